/* Command lines: words of key=value with blanks between. Pure. */
#ifndef COMMON_WORD_H
#define COMMON_WORD_H

#include "common/text.h"

/* Without "=" all of it is the key, and the value is empty. */
struct word {
	const char *key, *value; /* in the line */
	size_t key_bytes, value_bytes;
};

/* The next word, and what is left of the line behind it. False: there is none. */
bool word_next(const char **line, struct word *word);

bool word_is(const struct word *word, const char *key);
bool word_value_is(const struct word *word, const char *value);
/* A number from lowest to highest, and nothing else. */
bool word_number(const struct word *word, uint64_t lowest, uint64_t highest, uint64_t *to);
/* The word as it stands in the line. */
void word_put(const struct word *word, struct text *out);

/* The value of the last `key=value` in a line, as the guest takes it; false: there is none, or it does not fit,
 * and then the one before it stays in `value`. */
bool word_find(const char *line, const char *key, char *value, size_t bytes);
/* That of nonce=, by which the records of one launch are known. */
bool word_nonce(const char *line, uint64_t *nonce);

/* Loaders put the image's own name first, which is no word: the line behind it. What begins with a slash, or
 * has no "=", is a name. */
const char *words_behind_name(const char *line);

#endif
