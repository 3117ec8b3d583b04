/* printf for the console of a freestanding program. */
#ifndef COMMON_CONSOLE_PRINTF_H
#define COMMON_CONSOLE_PRINTF_H

#include <stddef.h>

/* Defined by each program. Without a console it does nothing. */
void console_write(const char *text, size_t bytes);

/* At most 511 bytes. Any CPU may call it at any time: there is no shared state. */
void console_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
