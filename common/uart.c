/* Serial ports in memory; see uart.h. */
#include "common/uart.h"
#include "common/device_io.h"

#define PL011_DATA     0x00
#define PL011_FLAGS    0x18
#define PL011_LINE     0x2c
#define PL011_CONTROL  0x30
#define PL011_MASK     0x38
#define PL011_BYTES    0x1000
#define FLAGS_BUSY     (1u << 3)
#define FLAGS_FULL     (1u << 5)
#define FLAGS_EMPTY    (1u << 7)
#define LINE_FIFO      (1u << 4)
#define FIFO_BYTES     16 /* of the smallest */
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
		mmio_write32(uart->base + PL011_LINE, LINE_8N1_FIFO);
		mmio_write32(uart->base + PL011_CONTROL, CONTROL_ENABLE);
	}
}

/* The SBSA's subset has no register for its lines, and always a FIFO. */
static bool has_fifo(const struct uart *uart)
{
	return uart->kind == UART_SBSA || mmio_read32(uart->base + PL011_LINE) & LINE_FIFO;
}

unsigned uart_room(const struct uart *uart)
{
	uint32_t flags;

	if (uart->kind == UART_16550)
		return get(uart, UART_STATUS) & STATUS_CAN_TAKE ? 1 : 0;
	flags = mmio_read32(uart->base + PL011_FLAGS);
	if (flags & FLAGS_FULL)
		return 0;
	return flags & FLAGS_EMPTY && has_fifo(uart) ? FIFO_BYTES : 1;
}

bool uart_is_idle(const struct uart *uart)
{
	if (uart->kind == UART_16550)
		return get(uart, UART_STATUS) & STATUS_IDLE;
	return !(mmio_read32(uart->base + PL011_FLAGS) & FLAGS_BUSY);
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
