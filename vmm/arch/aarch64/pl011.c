/* A PL011 that only sends, and is always ready to (Arm DDI 0183, chapter 3).
 * Called under the devices' lock. */
#include "machine.h"

#define DATA	 0x000
#define FLAGS	 0x018
#define DIVISOR	 0x024 /* and its fraction, line control, control: kept */
#define CONTROL	 0x030
#define MASK	 0x038
#define RAW	 0x03c
#define MASKED	 0x040
#define CLEAR	 0x044
#define IDENTITY 0xfe0 /* eight registers of a byte each */

#define FLAGS_EMPTY 0x90 /* nothing received, all sent */
#define SENT	    (1u << 5)
#define MASK_BITS   0x7ff

static const uint8_t identity[] = { 0x11, 0x10, 0x14, 0x00, 0x0d, 0xf0, 0x05, 0xb1 };

static void set_line(struct pl011 *uart)
{
	struct serial *serial = uart->serial;
	bool level = uart->raw & uart->mask;

	if (level == serial->level || !serial->interrupt)
		return;
	serial->level = level;
	serial->interrupt(serial->context, level);
}

static uint64_t read_register(const struct pl011 *uart, uint64_t offset)
{
	switch (offset) {
	case FLAGS:
		return FLAGS_EMPTY;
	case MASK:
		return uart->mask;
	case RAW:
		return uart->raw;
	case MASKED:
		return uart->raw & uart->mask;
	default:
		if (offset >= DIVISOR && offset <= CONTROL)
			return uart->kept[(offset - DIVISOR) / 4];
		return offset >= IDENTITY ? identity[(offset - IDENTITY) / 4] : 0;
	}
}

static void write_register(struct pl011 *uart, uint64_t offset, uint32_t value)
{
	struct serial *serial = uart->serial;

	if (offset == DATA) {
		if (serial->send)
			serial->send(serial->context, (uint8_t)value);
		uart->raw |= SENT;
	} else if (offset == MASK) {
		/* Who asks for the interrupt has room at once. */
		uart->raw |= value & ~uart->mask & SENT;
		uart->mask = value & MASK_BITS;
	} else if (offset == CLEAR) {
		uart->raw &= (uint16_t)~value;
	} else if (offset >= DIVISOR && offset <= CONTROL) {
		uart->kept[(offset - DIVISOR) / 4] = value;
	}
	set_line(uart);
}

void pl011_access(void *context, struct access *access)
{
	if (access->write)
		write_register(context, access->offset & ~3ull, (uint32_t)access->value);
	else
		access->value = read_register(context, access->offset & ~3ull);
}
