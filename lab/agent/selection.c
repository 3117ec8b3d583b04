/* The runner's words in append=, for example
 *	bench=^(tcp-rr|compile)$ unit=insns smp=1 hypercall=none nonce=ab12
 * (docs/guest.md has those of the benchmark guest). Pure. */
#include "config.h"
#include "common/word.h"

/* Adds the workloads that [names, end) lists. */
static bool add_rows(struct selection *selection, const struct config *config, const char *names,
		     const char *end, char separator, struct text *error)
{
	while (names < end) {
		const char *name = names;
		const struct workload *row;

		while (names < end && *names != separator)
			names++;
		row = config_workload(config, name, (size_t)(names - name));
		for (unsigned i = 0; row && i < selection->count; i++)
			if (selection->rows[i] == row)
				row = NULL;
		if (!row || selection->count == MAX_WORKLOADS) {
			text_printf(error, "append= selects a row that is no workload or was "
					   "selected before: ");
			for (; name < names; name++)
				text_printf(error, "%c", *name);
			return false;
		}
		selection->rows[selection->count++] = row;
		names += names < end;
	}
	return true;
}

/* bench=^(a|b)$ is the only regular expression that a runner sends to whole guests. */
static bool add_bench(struct selection *selection, const struct config *config,
		      const struct word *word, struct text *error)
{
	const char *value = word->value, *end = value + word->value_bytes;

	if (word->value_bytes < 4 || value[0] != '^' || value[1] != '(' || end[-2] != ')' ||
	    end[-1] != '$') {
		text_printf(error, "bench= in append= must be ^(NAME|NAME...)$");
		return false;
	}
	return add_rows(selection, config, value + 2, end - 2, '|', error);
}

static bool read_word(struct selection *selection, const struct config *config,
		      const struct word *word, struct text *error)
{
	if (word_is(word, "bench"))
		return add_bench(selection, config, word, error);
	if (word_is(word, "rows"))
		return add_rows(selection, config, word->value, word->value + word->value_bytes,
				',', error);
	if (word_is(word, "unit"))
		selection->insns = word_value_is(word, "insns");
	else if (word_is(word, "nonce"))
		(void)parse_hex(word->value, word->value_bytes, &selection->nonce);
	else if (word_is(word, "pad"))
		(void)word_number(word, 0, UINT64_MAX, &selection->pad);
	else if (word_is(word, "seed"))
		(void)word_number(word, 0, UINT64_MAX, &selection->seed);
	else if (word_is(word, "smp"))
		(void)word_number(word, 0, MAX_CPUS, &selection->cpus_wanted);
	else if (word_is(word, "samples"))
		(void)word_number(word, 1, MAX_SAMPLES, &selection->samples);
	return true;
}

bool selection_read(struct selection *selection, const struct config *config, struct text *error)
{
	const char *line = config->append ? config->append : "";
	struct word word;

	*selection = (struct selection){ .samples = 1 };
	while (word_next(&line, &word))
		if (!read_word(selection, config, &word, error))
			return false;
	if (selection->count == 0) {
		text_printf(error, "append= selects no workload");
		return false;
	}
	return true;
}
