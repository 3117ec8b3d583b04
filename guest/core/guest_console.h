/* Sets up the console; posih.h has its other functions. */
#ifndef GUEST_CONSOLE_H
#define GUEST_CONSOLE_H

#include "common/uart.h"

/* Makes that port the console; NULL: none. *uart must stay valid. */
void console_use(const struct uart *uart);
/* From now on text goes to the monitor by its doorbell (doorbell=), if the monitor takes text. That is one exit for each
 * call, instead of one or more for each byte. Call this only after the caches are on: the monitor reads through its
 * caches. */
void console_use_doorbell(uint64_t port);

#endif
