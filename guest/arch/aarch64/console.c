/*
 * Serial ports, polled: PL011 (Arm DDI 0183), the SBSA's subset of it (DEN 0094, appendix B), and
 * 16550s in memory (National PC16550D data sheet). The console is the record line. Every wait is
 * bounded: without a serial port the guest is mute, and runs on.
 */
#include "arch.h"
#include "cpu.h"
#include "machine.h"

#define PL011_DATA     0x00
#define PL011_FLAGS    0x18
#define PL011_LINE     0x2c
#define PL011_CONTROL  0x30
#define PL011_MASK     0x38
#define PL011_BYTES    0x1000
#define FLAGS_BUSY     (1u << 3)
#define FLAGS_FULL     (1u << 5)
#define LINE_8N1_FIFO  0x70u
#define CONTROL_ENABLE 0x301u /* the port, sending, receiving */

#define UART_DATA	0
#define UART_INTERRUPTS 1
#define UART_FIFO	2
#define UART_LINE	3
#define UART_MODEM	4
#define UART_STATUS	5
#define UART_SCRATCH	7
#define LINE_8N1	0x03
#define FIFO_ON		0x07 /* and both emptied */
#define MODEM_DTR_RTS	0x03
#define STATUS_CAN_TAKE 0x20
#define STATUS_IDLE	0x40

/* A byte takes 87 us at 115200 baud, a register's read 0.1 us or more: a full FIFO and some. */
#define MAX_POLLS 2000000

static const struct tree *tree;
static const struct uart *console; /* NULL: there is none */

static uint64_t register_at(const struct uart *uart, unsigned number)
{
	return uart->base + ((uint64_t)number << uart->shift);
}

static uint32_t get(const struct uart *uart, unsigned number)
{
	uint64_t at = register_at(uart, number);

	return uart->width == 4 ? mmio_read32(at) : in8(at);
}

static void put(const struct uart *uart, unsigned number, uint8_t value)
{
	uint64_t at = register_at(uart, number);

	if (uart->width == 4)
		mmio_write32(at, value);
	else
		out8(at, value);
}

/* The speed stays as the firmware or the loader has it: the tree does not tell every clock. */
static void uart_init(const struct uart *uart)
{
	if (uart->kind == UART_16550) {
		put(uart, UART_INTERRUPTS, 0);
		put(uart, UART_LINE, LINE_8N1);
		put(uart, UART_FIFO, FIFO_ON);
		put(uart, UART_MODEM, MODEM_DTR_RTS);
		return;
	}
	mmio_write32(uart->base + PL011_MASK, 0);
	if (uart->kind == UART_PL011 && !(mmio_read32(uart->base + PL011_CONTROL) & 1)) {
		mmio_write32(uart->base + PL011_LINE, LINE_8N1_FIFO);
		mmio_write32(uart->base + PL011_CONTROL, CONTROL_ENABLE);
	}
}

static bool can_take(const struct uart *uart)
{
	if (uart->kind == UART_16550)
		return get(uart, UART_STATUS) & STATUS_CAN_TAKE;
	return !(mmio_read32(uart->base + PL011_FLAGS) & FLAGS_FULL);
}

static bool is_idle(const struct uart *uart)
{
	if (uart->kind == UART_16550)
		return get(uart, UART_STATUS) & STATUS_IDLE;
	return !(mmio_read32(uart->base + PL011_FLAGS) & FLAGS_BUSY);
}

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
	if (!console)
		return;
	if (console->kind == UART_16550)
		put(console, UART_DATA, byte);
	else
		mmio_write32(console->base + PL011_DATA, byte);
}

void console_write(const char *text, size_t bytes)
{
	for (size_t i = 0; console && i < bytes; i++) {
		if (!wait_until(can_take, console))
			return;
		console_put((uint8_t)text[i]);
	}
}

bool console_drained(void)
{
	return !console || wait_until(is_idle, console);
}

/* PL011 has no scratch register; its interrupt mask does nothing else while the interrupt controller
 * leaves the port's interrupt off, as ours does. */
uint64_t scratch_port(void)
{
	if (!console)
		return PORT_NONE;
	return console->kind == UART_16550 ? register_at(console, UART_SCRATCH)
					   : console->base + PL011_MASK;
}

/* Mask bits of errors and of receiving, neither of which comes. */
uint8_t scratch_pattern(unsigned which)
{
	return which ? 0x50 : 0x80;
}

bool console_needs_port(uint64_t port, uint64_t registers)
{
	uint64_t bytes;

	if (!console || (registers == 1 && port == scratch_port()))
		return false;
	bytes = console->kind == UART_16550 ? 8ull << console->shift : PL011_BYTES;
	return port + registers > console->base && port < console->base + bytes;
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

	return uart && wait_until(is_idle, uart);
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
