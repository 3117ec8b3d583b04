/* The console's set-up; POSIH has its use. */
#ifndef GUEST_CONSOLE_H
#define GUEST_CONSOLE_H

#include "common/uart.h"

/* Makes that port the console; NULL: there is none. It must stay where it is. */
void console_use(const struct uart *uart);

#endif
