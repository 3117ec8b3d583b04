/* dom0's command lines. */
#include "words.h"

#include "handover.h"

#define MIN_MEMORY_MIB 16
#define MAX_MEMORY_MIB 2048

static size_t word_bytes(const char *word)
{
	size_t bytes = 0;

	while (word[bytes] && word[bytes] != ' ')
		bytes++;
	return bytes;
}

static const char *skip_blanks(const char *line)
{
	while (*line == ' ')
		line++;
	return line;
}

/* What stands behind "key=" in the word of so many bytes; NULL where it is another word. */
static const char *value_of(const char *word, size_t bytes, const char *key)
{
	size_t i = 0;

	while (i < bytes && key[i] && word[i] == key[i])
		i++;
	return !key[i] && i < bytes && word[i] == '=' ? word + i + 1 : NULL;
}

static bool take_number(const char *word, size_t bytes, const char *key, uint64_t lowest,
			uint64_t highest, uint64_t *to)
{
	const char *value = value_of(word, bytes, key);
	uint64_t number;

	if (!value || !parse_u64(value, (size_t)(word + bytes - value), &number) ||
	    number < lowest || number > highest)
		return false;
	*to = number;
	return true;
}

/* Memory comes in pages of 2 MiB. */
static bool take_memory(const char *word, size_t bytes, uint64_t *mib)
{
	uint64_t number;

	if (!take_number(word, bytes, "memory", MIN_MEMORY_MIB, MAX_MEMORY_MIB, &number) ||
	    number % 2)
		return false;
	*mib = number;
	return true;
}

bool words_read(const char *line, struct words *words, struct text *unknown)
{
	bool known = true;

	for (line = skip_blanks(line); *line; line = skip_blanks(line)) {
		size_t bytes = word_bytes(line);

		if (!take_memory(line, bytes, &words->memory_mib) &&
		    !take_number(line, bytes, "cpus", 1, HANDOVER_MAX_CPUS, &words->cpus)) {
			if (!known)
				text_printf(unknown, " ");
			for (size_t i = 0; i < bytes; i++)
				text_printf(unknown, "%c", line[i]);
			known = false;
		}
		line += bytes;
	}
	return known;
}

const char *words_behind_name(const char *line)
{
	size_t bytes;

	line = skip_blanks(line);
	bytes = word_bytes(line);
	for (size_t i = 0; i < bytes && *line != '/'; i++)
		if (line[i] == '=')
			return line; /* a word already: this loader puts no name there */
	return skip_blanks(line + bytes);
}

void words_value(const char *line, const char *key, struct text *value)
{
	for (line = skip_blanks(line); *line; line = skip_blanks(line)) {
		size_t bytes = word_bytes(line);
		const char *from = value_of(line, bytes, key);

		if (from) {
			while (from < line + bytes)
				text_printf(value, "%c", *from++);
			return;
		}
		line += bytes;
	}
}
