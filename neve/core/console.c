/* The serial port; see console.h. */
#include "core/console.h"

#include "common/bell_text.h"
#include "common/text.h"
#include "core/lock.h"

static const struct uart *port;
static uint64_t doorbell; /* 0: none */
static struct lock lock;

void console_use(const struct uart *uart)
{
	port = uart;
	if (port)
		uart_init(port);
}

void console_use_doorbell(uint64_t address)
{
	doorbell = address;
}

/* Gives text to the hypervisor below, and returns how many bytes it took. After a ring in vain, or one that faults and so
 * leads here again, nothing more is given. */
static size_t give(const char *text, size_t bytes)
{
	uint64_t at = doorbell;
	size_t given = 0, piece;

	doorbell = 0;
	for (; at && given < bytes; given += piece) {
		piece = bytes - given < MAX_RECORD_BYTES ? bytes - given : MAX_RECORD_BYTES;
		if (!bell_text(at, text + given, piece))
			return given;
	}
	doorbell = at;
	return given;
}

void console_write(const char *text, size_t bytes)
{
	size_t given;

	lock_take(&lock);
	given = give(text, bytes);
	if (given < bytes && port)
		uart_write(port, text + given, bytes - given);
	lock_release(&lock);
}

static char source[8] = "neve";

void record_use_level(unsigned level)
{
	struct text text;

	if (!level)
		return;
	text_start(&text, source, sizeof(source));
	text_printf(&text, "l%u", level);
}

void record_send(struct record *record, struct record_line *line)
{
	char text[MAX_RECORD_BYTES + 1];
	size_t bytes = record_finish(record, source, line, text);

	if (bytes)
		console_write(text, bytes);
}

void console_guest_flush(struct guest_console *console)
{
	console_write(console->line, console->used);
	console->used = 0;
}

void console_guest_text(struct guest_console *console, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		console->line[console->used++] = text[i];
		if (text[i] == '\n' || console->used == sizeof(console->line))
			console_guest_flush(console);
	}
	if (!console->by_lines)
		console_guest_flush(console);
}

void console_seize(void)
{
	lock_release(&lock);
}

void console_drain(void)
{
	if (port)
		uart_wait_idle(port);
}

bool console_listen(void)
{
	return port && uart_listen(port);
}

int console_receive(void)
{
	return uart_receive(port);
}
