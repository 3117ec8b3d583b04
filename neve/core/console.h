/*
 * The machine's serial port, shared by the guests' consoles and our own records. With one VM its output
 * passes through byte by byte; with several, and if it is a guest hypervisor, whose lines are not complete
 * when its programs ring the doorbell, output is buffered until a line is, so that lines do not mix.
 */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/console_printf.h"
#include "common/record.h"
#include "common/uart.h"

#define MAX_LINE_BYTES 4400 /* a record's line and a margin */

struct guest_console {
	bool by_lines;
	char line[MAX_LINE_BYTES];
	size_t used;
};

/* NULL: there is no port, and output is discarded. */
void console_use(const struct uart *uart);

/* From now on the hypervisor below writes our text, if it takes text by its doorbell: one trap for each text, instead of
 * one or more for each byte. */
void console_use_doorbell(uint64_t address);

/* Sets the source of our records (docs/records.md): `neve` if `level` is 0, else `l1`, `l2` ... */
void record_use_level(unsigned level);

/* Writes one of our records. */
void record_send(struct record *record, struct record_line *line);

/* A guest's output: a byte of its serial port, or text that it gives by the doorbell. */
void console_guest_text(struct guest_console *console, const char *text, size_t bytes);

/* Writes an unfinished line. */
void console_guest_flush(struct guest_console *console);

/* Breaks the lock, for the last message of a hypervisor that failed. Another CPU's output may be cut
 * short. */
void console_seize(void);

/* Waits until everything is sent, but not for ever. */
void console_drain(void);

/* Enables the port's receive interrupt. Returns false if we do not support it (a 16550). */
bool console_listen(void);

/* A received byte, or -1 if there is none. */
int console_receive(void);

#endif
