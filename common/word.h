/* Words of the guest's command line that its monitors heed too. Pure. */
#ifndef COMMON_WORD_H
#define COMMON_WORD_H

#include "common/record.h"

/* The value of the last `key=value` in a line of words, as the guest takes it; false: there is none, or it
 * does not fit, and then the one before it stays in `value`. */
bool word_find(const char *line, const char *key, char *value, size_t bytes);
/* nonce= is the records' too. */
void word_nonce(const char *line, struct record_line *records);

#endif
