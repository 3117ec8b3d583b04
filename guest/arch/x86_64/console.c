/* The console: the 16550 at COM1, 115200 baud. Any other port may be a 16550 too. */
#include "guest/core/guest_console.h"
#include "guest/platform/boot_protocol.h"
#include "posih.h"

#define COM1	     0x3f8
#define DIVISOR_LOW  0
#define DIVISOR_HIGH 1
#define LINE	     3
#define LINE_DIVISOR 0x80
#define BAUD_115200  1

static const struct uart com1 = { .kind = UART_16550, .base = COM1, .width = 1 };

void console_init(void)
{
	out8(COM1 + LINE, LINE_DIVISOR);
	out8(COM1 + DIVISOR_LOW, BAUD_115200);
	out8(COM1 + DIVISOR_HIGH, 0);
	uart_init(&com1);
	console_use(&com1);
}

/* Detected by its scratch register. */
bool serial_port_present(uint64_t port)
{
	const struct uart uart = { .kind = UART_16550, .base = port, .width = 1 };
	uint64_t scratch = uart_scratch(&uart);
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
	const struct uart uart = { .kind = UART_16550, .base = port, .width = 1 };

	return uart_wait_idle(&uart);
}
