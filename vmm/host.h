/* Error texts, reading whole files, the clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text of this thread's last fail(). */
extern _Thread_local char error_text[512];

/* Sets error_text; its old text may be among the arguments. Always returns false, for `return fail(...)`.
 * %m is errno's text. */
bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the last fail()'s text to standard error; returns `status`. */
int complain(int status);
/* Reads a file of at most `most` bytes; free() the result. NULL: error_text has the path and the reason. */
void *file_read(const char *path, size_t most, size_t *bytes);
uint64_t now_ns(void);
