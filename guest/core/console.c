/*
 * The console, one serial port: it is the record line, and for what is to tell a person
 * something. Every wait is bounded: without a serial port the guest is mute, and runs on.
 */
#include "console.h"
#include "common/text.h"
#include "posih.h"

/* A byte takes 87 us at 115200 baud, a register's read 0.1 us to 1 us or more: a full FIFO and some. */
#define MAX_POLLS 200000

static const struct uart *console;

void console_use(const struct uart *uart)
{
	console = uart;
}

/* How many bytes it takes, once it takes any; 0 if it never does. */
static unsigned wait_room(const struct uart *uart)
{
	for (unsigned i = 0; i < MAX_POLLS; i++) {
		unsigned room = uart_room(uart);

		if (room)
			return room;
	}
	return 0;
}

bool uart_wait_idle(const struct uart *uart)
{
	for (unsigned i = 0; i < MAX_POLLS; i++)
		if (uart_is_idle(uart))
			return true;
	return false;
}

void console_put(uint8_t byte)
{
	if (console)
		uart_send(console, byte);
}

void console_write(const char *text, size_t bytes)
{
	for (size_t i = 0, room = 0; console && i < bytes; i++, room--) {
		if (!room && !(room = wait_room(console)))
			return;
		uart_send(console, (uint8_t)text[i]);
	}
}

bool console_drained(void)
{
	return !console || uart_wait_idle(console);
}

void console_printf(const char *format, ...)
{
	static char buffer[4400]; /* a record line, and some */
	struct text text;
	va_list values;

	text_start(&text, buffer, sizeof(buffer));
	va_start(values, format);
	text_vprintf(&text, format, values);
	va_end(values);
	console_write(buffer, text.used);
}

/* A buffer of its own: the other one may be what the first CPU sends at this moment. */
void console_printf_aside(const char *format, ...)
{
	char buffer[160];
	struct text text;
	va_list values;

	text_start(&text, buffer, sizeof(buffer));
	va_start(values, format);
	text_vprintf(&text, format, values);
	va_end(values);
	console_write(buffer, text.used);
}

uint64_t scratch_port(void)
{
	return console ? uart_scratch(console) : PORT_NONE;
}

/* In PL011's mask: the interrupts of errors and of receiving, neither of which comes. */
uint8_t scratch_pattern(unsigned which)
{
	return which ? 0x50 : 0x80;
}

bool console_needs_port(uint64_t port, uint64_t registers)
{
	if (!console || (registers == 1 && port == scratch_port()))
		return false;
	return port + registers > console->base && port < console->base + uart_bytes(console);
}
