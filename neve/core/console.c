/* The serial port; see console.h. */
#include "core/console.h"

#include "common/text.h"
#include "core/lock.h"

static const struct uart *port;
static struct lock lock;

void console_use(const struct uart *uart)
{
	port = uart;
	if (port)
		uart_init(port);
}

void console_write(const char *text, size_t bytes)
{
	if (!port)
		return;
	lock_take(&lock);
	uart_write(port, text, bytes);
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

void console_guest_byte(struct guest_console *console, uint8_t byte)
{
	console->line[console->used++] = (char)byte;
	if (!console->by_lines || byte == '\n' || console->used == sizeof(console->line))
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
