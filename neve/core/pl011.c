/* Answers a guest's accesses to a PL011; see pl011.h. Pure. */
#include "pl011.h"

#define DATA	 0x00
#define FLAGS	 0x18
#define WHOLE	 0x24
#define PART	 0x28
#define LINE	 0x2c
#define CONTROL	 0x30
#define LEVELS	 0x34
#define MASK	 0x38
#define RAW	 0x3c
#define MASKED	 0x40
#define CLEAR	 0x44
#define IDENTITY 0xfe0 /* eight registers with a byte each */

#define FLAGS_SENDS_NOTHING (1u << 7)
#define FLAGS_HOLDS_NOTHING (1u << 4)
#define INTERRUPT_RECEIVED  (1u << 4)
#define INTERRUPT_SENT	    (1u << 5)
#define INTERRUPT_WAITS	    (1u << 6) /* received, and nobody has read it for a while */
#define MASK_BITS	    0x7ffu

static uint32_t raw(const struct pl011 *port)
{
	return (port->count ? INTERRUPT_RECEIVED | INTERRUPT_WAITS : 0) |
	       (port->sent ? INTERRUPT_SENT : 0);
}

static uint32_t take(struct pl011 *port)
{
	uint8_t byte = port->received[port->first];

	if (!port->count)
		return 0;
	port->first = (port->first + 1) % PL011_FIFO;
	port->count--;
	return byte;
}

static uint32_t read(struct pl011 *port, uint64_t offset)
{
	static const uint8_t identity[] = { 0x11, 0x10, 0x34, 0x00, 0x0d, 0xf0, 0x05, 0xb1 };

	switch (offset) {
	case DATA:
		return take(port);
	case FLAGS:
		return FLAGS_SENDS_NOTHING | (port->count ? 0 : FLAGS_HOLDS_NOTHING);
	case WHOLE:
		return port->divisor_whole;
	case PART:
		return port->divisor_part;
	case LINE:
		return port->line;
	case CONTROL:
		return port->control;
	case LEVELS:
		return port->levels;
	case MASK:
		return port->mask;
	case RAW:
		return raw(port);
	case MASKED:
		return raw(port) & port->mask;
	}
	if (offset >= IDENTITY && offset % 4 == 0)
		return identity[(offset - IDENTITY) / 4];
	return 0;
}

static void write(struct pl011 *port, uint64_t offset, uint32_t value)
{
	switch (offset) {
	case DATA:
		port->send(port->context, (uint8_t)value);
		port->sent = true;
		break;
	case WHOLE:
		port->divisor_whole = value & 0xffff;
		break;
	case PART:
		port->divisor_part = value & 0x3f;
		break;
	case LINE:
		port->line = value & 0xff;
		break;
	case CONTROL:
		port->control = value & 0xffff;
		break;
	case LEVELS:
		port->levels = value & 0x3f;
		break;
	case MASK:
		port->mask = value & MASK_BITS;
		break;
	case CLEAR:
		port->sent = port->sent && !(value & INTERRUPT_SENT);
		break;
	}
}

void pl011_access(struct pl011 *port, struct access *access)
{
	uint64_t offset = access->offset % PL011_BYTES;

	if (access->write)
		write(port, offset, (uint32_t)access->value);
	else
		access->value = read(port, offset);
}

void pl011_receive(struct pl011 *port, uint8_t byte)
{
	if (port->count == PL011_FIFO)
		return;
	port->received[(port->first + port->count++) % PL011_FIFO] = byte;
}

bool pl011_line(const struct pl011 *port)
{
	return raw(port) & port->mask;
}
