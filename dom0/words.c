/* dom0's own command line. */
#include "dom0/words.h"

#include "common/word.h"
#include "dom0/handover.h"

#define MIN_MEMORY_MIB 16
#define MAX_MEMORY_MIB 2048

static bool take(const struct word *word, struct words *words)
{
	uint64_t mib;

	if (word_is(word, "cpus"))
		return word_number(word, 1, HANDOVER_MAX_CPUS, &words->cpus);
	/* Memory is allocated in 2 MiB pages. */
	if (!word_is(word, "memory") || !word_number(word, MIN_MEMORY_MIB, MAX_MEMORY_MIB, &mib) ||
	    mib % 2)
		return false;
	words->memory_mib = mib;
	return true;
}

bool words_read(const char *line, struct words *words, struct text *unknown)
{
	bool known = true;
	struct word word;

	while (word_next(&line, &word)) {
		if (take(&word, words))
			continue;
		if (!known)
			text_printf(unknown, " ");
		word_put(&word, unknown);
		known = false;
	}
	return known;
}
