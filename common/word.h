/* Command lines: key=value words separated by blanks. Pure. */
#ifndef COMMON_WORD_H
#define COMMON_WORD_H

#include "common/text.h"

/* A word without "=" is all key; its value is empty. */
struct word {
	const char *key, *value; /* point into the line */
	size_t key_bytes, value_bytes;
};

/* Takes the next word and advances the line. False: none left. */
bool word_next(const char **line, struct word *word);

bool word_is(const struct word *word, const char *key);
bool word_value_is(const struct word *word, const char *value);
/* Parses a number from lowest to highest that fills the whole value. */
bool word_number(const struct word *word, uint64_t lowest, uint64_t highest, uint64_t *to);
/* Writes the word as it is in the line. */
void word_put(const struct word *word, struct text *out);

/* The value of the last `key=value` in a line, which is the one the guest uses. False: none, or it does not
 * fit; `value` then keeps the one before it. */
bool word_find(const char *line, const char *key, char *value, size_t bytes);
/* The value of nonce=, which identifies the records of one launch. */
bool word_nonce(const char *line, uint64_t *nonce);

/* The line after the image's own name, which some loaders put first. A first word that begins with a slash,
 * or has no "=", is a name. */
const char *words_behind_name(const char *line);

#endif
