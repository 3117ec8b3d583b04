/*
 * The console: the serial port that the device tree names. It is the record line. Every wait is
 * bounded: without a serial port the guest is mute, and runs on.
 */
#include "arch.h"
#include "machine.h"
#include "uart.h"

/* A byte takes 87 us at 115200 baud, a register's read 0.1 us or more: a full FIFO and some. */
#define MAX_POLLS 2000000

static const struct tree *tree;
static const struct uart *console; /* NULL: there is none */

static bool wait_until(bool (*holds)(const struct uart *), const struct uart *uart)
{
	for (unsigned i = 0; i < MAX_POLLS; i++)
		if (holds(uart))
			return true;
	return false;
}

void console_init(const struct tree *of_machine)
{
	tree = of_machine;
	for (unsigned i = 0; i < tree->uart_count; i++)
		uart_init(&tree->uarts[i]);
	console = tree->uart_count ? &tree->uarts[tree->console] : NULL;
}

void console_put(uint8_t byte)
{
	if (console)
		uart_send(console, byte);
}

void console_write(const char *text, size_t bytes)
{
	for (size_t i = 0; console && i < bytes; i++) {
		if (!wait_until(uart_can_take, console))
			return;
		console_put((uint8_t)text[i]);
	}
}

bool console_drained(void)
{
	return !console || wait_until(uart_is_idle, console);
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

/* The tree's serial port at that address, but the console; NULL where there is none. */
static const struct uart *other_uart(uint64_t port)
{
	for (unsigned i = 0; i < tree->uart_count; i++)
		if (tree->uarts[i].base == port && &tree->uarts[i] != console)
			return &tree->uarts[i];
	return NULL;
}

bool serial_port_present(uint64_t port)
{
	return other_uart(port);
}

bool serial_port_drained(uint64_t port)
{
	const struct uart *uart = other_uart(port);

	return uart && wait_until(uart_is_idle, uart);
}

void arch_cmdline_limits(struct cmdline_limits *limits)
{
	*limits = (struct cmdline_limits){
		.tick_unit = "cntvct_ticks",
		.port_max = (1ull << 48) - 1,
		.scratch_port = scratch_port(),
		.print_port = PORT_NONE,
	};
	for (unsigned i = 0; i < tree->uart_count && limits->print_port == PORT_NONE; i++)
		if (&tree->uarts[i] != console)
			limits->print_port = tree->uarts[i].base;
}
