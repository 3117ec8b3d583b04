/*
 * The console: a monitor's doorbell, or one serial port. It carries the records, and text only after errors.
 * Every wait is bounded. With neither, the guest runs silently.
 */
#include "guest/core/guest_console.h"
#include "common/bell_text.h"
#include "posih.h"

static const struct uart *console;
static uint64_t doorbell = PORT_NONE;

void console_use(const struct uart *uart)
{
	console = uart;
}

void console_use_doorbell(uint64_t port)
{
	doorbell = port;
}

void console_put(uint8_t byte)
{
	if (console)
		uart_send(console, byte);
}

void console_write(const char *text, size_t bytes)
{
	uint64_t port = doorbell;

	/* A ring that faults leads here again: then, and after one in vain, all text goes to the serial port. */
	doorbell = PORT_NONE;
	if (port != PORT_NONE && bell_text(port, text, bytes))
		doorbell = port;
	else if (console)
		uart_write(console, text, bytes);
}

bool console_drained(void)
{
	return !console || uart_wait_idle(console);
}

uint64_t scratch_port(void)
{
	return console ? uart_scratch(console) : PORT_NONE;
}

/* In PL011's mask register: error and receive interrupts, neither of which occurs. */
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
