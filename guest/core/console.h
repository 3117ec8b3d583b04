/* The console's set-up; POSIH has its use. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include "common/uart.h"

/* Makes that port the console; NULL: there is none. It must stay where it is. */
void console_use(const struct uart *uart);

#endif
