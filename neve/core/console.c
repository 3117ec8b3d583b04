/* The serial port; see console.h. */
#include "console.h"

#include "common/text.h"
#include "lock.h"
#include "common/device_io.h"

/* A byte takes 87 us at 115200 baud, a register's read 0.1 us or more. */
#define MAX_POLLS 200000

#define PL011_DATA    0x00
#define PL011_FLAGS   0x18
#define PL011_MASK    0x38
#define PL011_CLEAR   0x44
#define CAME_IN	      0x50u /* received; received and waiting */
#define HOLDS_NOTHING (1u << 4)

static const struct uart *port;
static struct lock lock;

void console_use(const struct uart *uart)
{
	port = uart;
	if (port)
		uart_init(port);
}

/* How many bytes the port takes now; waits for one at least, but not for ever. */
static unsigned room(void)
{
	unsigned bytes = 0;

	for (unsigned i = 0; i < MAX_POLLS && !bytes; i++)
		bytes = uart_room(port);
	return bytes;
}

void console_write(const char *text, size_t bytes)
{
	unsigned left = 0;

	if (!port)
		return;
	lock_take(&lock);
	for (size_t i = 0; i < bytes; i++) {
		if (!left)
			left = room();
		uart_send(port, (uint8_t)text[i]);
		left -= left > 0;
	}
	lock_release(&lock);
}

void console_printf(const char *format, ...)
{
	char buffer[512];
	struct text text;
	va_list values;

	text_start(&text, buffer, sizeof(buffer));
	va_start(values, format);
	text_vprintf(&text, format, values);
	va_end(values);
	console_write(buffer, text.used);
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
	for (unsigned i = 0; port && i < MAX_POLLS && !uart_is_idle(port); i++)
		;
}

bool console_listen(void)
{
	if (!port || port->kind == UART_16550)
		return false;
	mmio_write32(port->base + PL011_MASK, CAME_IN);
	return true;
}

int console_receive(void)
{
	/* Before the look: what comes later interrupts anew, and an interrupt for nothing ends (QEMU 10 empties
	 * the FIFO when it is switched on, and leaves the interrupt of a byte that was in it). */
	mmio_write32(port->base + PL011_CLEAR, CAME_IN);
	if (mmio_read32(port->base + PL011_FLAGS) & HOLDS_NOTHING)
		return -1;
	return (int)(mmio_read32(port->base + PL011_DATA) & 0xff);
}
