/* Command lines; see word.h. */
#include "common/word.h"

bool word_next(const char **line, struct word *word)
{
	const char *at = *line, *end;

	while (*at == ' ')
		at++;
	for (end = at; *end && *end != ' ';)
		end++;
	word->key = at;
	while (at < end && *at != '=')
		at++;
	word->key_bytes = (size_t)(at - word->key);
	word->value = at < end ? at + 1 : at;
	word->value_bytes = (size_t)(end - word->value);
	*line = end;
	return end > word->key;
}

bool word_is(const struct word *word, const char *key)
{
	return text_is(word->key, word->key_bytes, key);
}

bool word_value_is(const struct word *word, const char *value)
{
	return text_is(word->value, word->value_bytes, value);
}

bool word_number(const struct word *word, uint64_t lowest, uint64_t highest, uint64_t *to)
{
	uint64_t value;

	if (!parse_u64(word->value, word->value_bytes, &value) || value < lowest || value > highest)
		return false;
	*to = value;
	return true;
}

void word_put(const struct word *word, struct text *out)
{
	for (const char *c = word->key; c < word->value + word->value_bytes; c++)
		text_printf(out, "%c", *c);
}

bool word_find(const char *line, const char *key, char *value, size_t bytes)
{
	bool found = false;
	struct word word;

	while (word_next(&line, &word)) {
		if (!word_is(&word, key) || word.value == word.key + word.key_bytes)
			continue;
		found = word.value_bytes < bytes;
		for (size_t i = 0; found && i <= word.value_bytes; i++)
			value[i] = i < word.value_bytes ? word.value[i] : 0;
	}
	return found;
}

bool word_nonce(const char *line, uint64_t *nonce)
{
	char value[17];

	return word_find(line, "nonce", value, sizeof(value)) &&
	       parse_hex(value, text_length(value), nonce);
}

const char *words_behind_name(const char *line)
{
	const char *rest = line;
	struct word word;

	if (word_next(&rest, &word) && *word.key != '/' && word.value > word.key + word.key_bytes)
		return word.key; /* not a name: this loader adds none */
	while (*rest == ' ')
		rest++;
	return rest;
}
