/* Small files of the kernel. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Reads at most that much. Returns the bytes; 0: it can't be read. */
size_t file_read(const char *path, char *text, size_t bytes);
bool file_write(const char *path, const char *text);
