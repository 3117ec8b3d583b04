/* Sets up the console; posih.h has its other functions. */
#ifndef GUEST_CONSOLE_H
#define GUEST_CONSOLE_H

#include "common/uart.h"

/* Makes that port the console; NULL: none. *uart must stay valid. */
void console_use(const struct uart *uart);

#endif
