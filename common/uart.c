/* Serial ports in memory, polled; see uart.h. */
#include "common/uart.h"
#include "common/device_io.h"
#include "common/pl011_registers.h"

/* A byte takes 87 us at 115200 baud, a register read 0.1 us to 1 us or more: enough for a full FIFO. */
#define MAX_POLLS  200000
#define FIFO_BYTES 16 /* of the smallest PL011, and of a 16550 */
#define CAME_IN	   (PL011_RECEIVED | PL011_WAITS)

#define UART_DATA	0
#define UART_INTERRUPTS 1
#define UART_FIFO	2
#define UART_LINE	3
#define UART_MODEM	4
#define UART_STATUS	5
#define UART_SCRATCH	7
#define LINE_8N1	0x03
#define FIFO_ON		0x07 /* and both FIFOs cleared */
#define FIFOS_ARE_ON	0xc0 /* when read, of a port that has them */
#define MODEM_DTR_RTS	0x03
#define STATUS_CAN_TAKE 0x20
#define STATUS_IDLE	0x40

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

void uart_init(const struct uart *uart)
{
	if (uart->kind == UART_16550) {
		put(uart, UART_LINE, LINE_8N1);
		put(uart, UART_INTERRUPTS, 0);
		put(uart, UART_FIFO, FIFO_ON);
		put(uart, UART_MODEM, MODEM_DTR_RTS);
		return;
	}
	mmio_write32(uart->base + PL011_MASK, 0);
	if (uart->kind == UART_PL011 && !(mmio_read32(uart->base + PL011_CONTROL) & 1)) {
		mmio_write32(uart->base + PL011_LINE, PL011_LINE_8N1_FIFO);
		mmio_write32(uart->base + PL011_CONTROL, PL011_CONTROL_ON);
	}
}

/* The SBSA subset has no line control register, and always a FIFO. */
static bool has_fifo(const struct uart *uart)
{
	return uart->kind == UART_SBSA || mmio_read32(uart->base + PL011_LINE) & PL011_LINE_FIFO;
}

unsigned uart_room(const struct uart *uart)
{
	uint32_t flags;

	if (uart->kind == UART_16550) {
		if (!(get(uart, UART_STATUS) & STATUS_CAN_TAKE))
			return 0;
		/* With FIFOs this status means that the transmitter's is empty. */
		return (get(uart, UART_FIFO) & FIFOS_ARE_ON) == FIFOS_ARE_ON ? FIFO_BYTES : 1;
	}
	flags = mmio_read32(uart->base + PL011_FLAGS);
	if (flags & PL011_FLAG_FULL)
		return 0;
	return flags & PL011_FLAG_EMPTY && has_fifo(uart) ? FIFO_BYTES : 1;
}

bool uart_is_idle(const struct uart *uart)
{
	if (uart->kind == UART_16550)
		return get(uart, UART_STATUS) & STATUS_IDLE;
	return !(mmio_read32(uart->base + PL011_FLAGS) & PL011_FLAG_BUSY);
}

void uart_send(const struct uart *uart, uint8_t byte)
{
	if (uart->kind == UART_16550)
		put(uart, UART_DATA, byte);
	else
		mmio_write32(uart->base + PL011_DATA, byte);
}

uint64_t uart_scratch(const struct uart *uart)
{
	return uart->kind == UART_16550 ? register_at(uart, UART_SCRATCH) : uart->base + PL011_MASK;
}

uint64_t uart_bytes(const struct uart *uart)
{
	return uart->kind == UART_16550 ? 8ull << uart->shift : PL011_BYTES;
}

/* Waits for room and returns its bytes; 0: timed out. */
static unsigned wait_room(const struct uart *uart)
{
	for (unsigned i = 0; i < MAX_POLLS; i++) {
		unsigned room = uart_room(uart);

		if (room)
			return room;
	}
	return 0;
}

bool uart_write(const struct uart *uart, const char *text, size_t bytes)
{
	for (size_t i = 0, room = 0; i < bytes; i++, room--) {
		if (!room && !(room = wait_room(uart)))
			return false;
		uart_send(uart, (uint8_t)text[i]);
	}
	return true;
}

bool uart_wait_idle(const struct uart *uart)
{
	for (unsigned i = 0; i < MAX_POLLS; i++)
		if (uart_is_idle(uart))
			return true;
	return false;
}

bool uart_listen(const struct uart *uart)
{
	if (uart->kind == UART_16550)
		return false;
	mmio_write32(uart->base + PL011_MASK, CAME_IN);
	return true;
}

int uart_receive(const struct uart *uart)
{
	/* Clear before the read: a later byte interrupts again, and a spurious interrupt ends (QEMU 10
	 * empties the FIFO when it is enabled, but leaves the interrupt of a byte that was in it). */
	mmio_write32(uart->base + PL011_CLEAR, CAME_IN);
	if (mmio_read32(uart->base + PL011_FLAGS) & PL011_FLAG_HOLDS_NOTHING)
		return -1;
	return (int)(mmio_read32(uart->base + PL011_DATA) & 0xff);
}
