/*
 * The machine's serial port, on which the guests' consoles and our own records come together. One VM's
 * bytes pass through as they come; the lines of several are kept until they are whole, so that none
 * stands inside another.
 */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/console_printf.h"
#include "common/record.h"
#include "common/uart.h"

#define MAX_LINE_BYTES 4400 /* a record's line, and some */

struct guest_console {
	bool by_lines;
	char line[MAX_LINE_BYTES];
	size_t used;
};

/* NULL: there is no port, and nothing is said. */
void console_use(const struct uart *uart);

/* Of whom our records are (docs/records.md): `neve`, or `l1`, `l2` of one that runs as a guest, so many
 * levels up. */
void record_use_level(unsigned level);

/* Sends a record of ours. */
void record_send(struct record *record, struct record_line *line);

/* A byte that a guest sent. */
void console_guest_byte(struct guest_console *console, uint8_t byte);

/* What stands in an unfinished line. */
void console_guest_flush(struct guest_console *console);

/* For the last words of a hypervisor that failed: whoever was speaking is cut short. */
void console_seize(void);

/* Waits until all is sent, a bounded time. */
void console_drain(void);

/* Lets the port interrupt when bytes come in. False: it is none that can (a 16550). */
bool console_listen(void);

/* A byte that came in; -1: none. */
int console_receive(void);

#endif
