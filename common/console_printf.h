/* Text for the console of a program without an operating system. */
#ifndef COMMON_CONSOLE_PRINTF_H
#define COMMON_CONSOLE_PRINTF_H

#include <stddef.h>

/* Each program brings it. Nothing is said where there is no console. */
void console_write(const char *text, size_t bytes);

/* At most 511 bytes. Any CPU may call it at any time: it has nothing that two of them share. */
void console_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
