/* What all files need of the host: errors as text, whole files, the clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What this thread's last fail() said. */
extern _Thread_local char error_text[512];

/* Sets error_text, whose old text may be among the values. Returns false, so that it can stand
 * behind `return`. %m is errno's text. */
bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Says on standard error what the last fail() said; returns `status`. */
int complain(int status);
/* A file's bytes, at most `most`, to be freed. NULL: error_text says why, the path in front. */
void *file_read(const char *path, size_t most, size_t *bytes);
uint64_t now_ns(void);
