/*
 * The console: a 16550 at COM1, 115200 baud, 8 data bits, no parity, polled (National PC16550D
 * data sheet). It is the record line. Every wait is bounded: without a serial port the guest is
 * mute, and runs on.
 */
#include "console.h"
#include "posih.h"

#define COM1 0x3f8

#define UART_DATA	 0
#define UART_INTERRUPTS	 1
#define UART_DIVISOR_LOW 0
#define UART_FIFO	 2
#define UART_LINE	 3
#define UART_MODEM	 4
#define UART_STATUS	 5
#define UART_SCRATCH	 7

#define LINE_8N1	0x03
#define LINE_DIVISOR	0x80
#define FIFO_ON		0x07 /* and both emptied */
#define MODEM_DTR_RTS	0x03
#define STATUS_CAN_TAKE 0x20
#define STATUS_IDLE	0x40
#define BAUD_115200	1
/* A byte takes 87 us at 115200 baud, a port read about 1 us: a hundred times a full FIFO. */
#define MAX_POLLS	200000

static void uart_init(uint16_t base)
{
	out8((uint16_t)(base + UART_INTERRUPTS), 0);
	out8((uint16_t)(base + UART_LINE), LINE_DIVISOR);
	out8((uint16_t)(base + UART_DIVISOR_LOW), BAUD_115200);
	out8((uint16_t)(base + UART_DIVISOR_LOW + 1), 0);
	out8((uint16_t)(base + UART_LINE), LINE_8N1);
	out8((uint16_t)(base + UART_FIFO), FIFO_ON);
	out8((uint16_t)(base + UART_MODEM), MODEM_DTR_RTS);
}

static bool uart_wait(uint16_t base, uint8_t status)
{
	for (unsigned i = 0; i < MAX_POLLS; i++)
		if ((in8((uint16_t)(base + UART_STATUS)) & status) == status)
			return true;
	return false;
}

void console_init(void)
{
	uart_init(COM1);
}

void console_write(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (!uart_wait(COM1, STATUS_CAN_TAKE))
			return;
		out8(COM1 + UART_DATA, (uint8_t)text[i]);
	}
}

bool console_drained(void)
{
	return uart_wait(COM1, STATUS_IDLE);
}

void console_put(uint8_t byte)
{
	out8(COM1 + UART_DATA, byte);
}

uint64_t scratch_port(void)
{
	return COM1 + UART_SCRATCH;
}

uint8_t scratch_pattern(unsigned which)
{
	return which ? 0x94 : 0x6b;
}

bool console_needs_port(uint64_t port, uint64_t registers)
{
	return port + registers > COM1 && port < COM1 + UART_SCRATCH;
}

bool serial_port_present(uint64_t port)
{
	uint64_t scratch = port + UART_SCRATCH;
	uint8_t before = in8(scratch);
	bool kept;

	out8(scratch, 0x5a);
	kept = in8(scratch) == 0x5a;
	out8(scratch, 0xa5);
	kept = kept && in8(scratch) == 0xa5;
	out8(scratch, before);
	return kept;
}

bool serial_port_drained(uint64_t port)
{
	return uart_wait((uint16_t)port, STATUS_IDLE);
}
