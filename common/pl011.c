/* A PL011; see pl011.h. */
#include "common/pl011.h"

static uint32_t raw(const struct pl011 *port)
{
	return (port->count ? PL011_RECEIVED | PL011_WAITS : 0) | (port->sent ? PL011_SENT : 0);
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
	case PL011_DATA:
		return take(port);
	case PL011_FLAGS:
		return PL011_FLAG_EMPTY | (port->count ? 0 : PL011_FLAG_HOLDS_NOTHING);
	case PL011_DIVISOR_WHOLE:
		return port->divisor_whole;
	case PL011_DIVISOR_PART:
		return port->divisor_part;
	case PL011_LINE:
		return port->line;
	case PL011_CONTROL:
		return port->control;
	case PL011_LEVELS:
		return port->levels;
	case PL011_MASK:
		return port->mask;
	case PL011_RAW:
		return raw(port);
	case PL011_MASKED:
		return raw(port) & port->mask;
	}
	if (offset >= PL011_IDENTITY && offset < PL011_BYTES && offset % 4 == 0)
		return identity[(offset - PL011_IDENTITY) / 4];
	return 0;
}

void pl011_read(struct pl011 *port, uint64_t offset, uint64_t *value)
{
	*value = read(port, offset);
}

void pl011_write(struct pl011 *port, uint64_t offset, uint32_t value)
{
	switch (offset) {
	case PL011_DATA:
		if (port->send)
			port->send(port->context, (uint8_t)value);
		port->sent = true;
		break;
	case PL011_DIVISOR_WHOLE:
		port->divisor_whole = value & 0xffff;
		break;
	case PL011_DIVISOR_PART:
		port->divisor_part = value & 0x3f;
		break;
	case PL011_LINE:
		port->line = value & 0xff;
		break;
	case PL011_CONTROL:
		port->control = value & 0xffff;
		break;
	case PL011_LEVELS:
		port->levels = value & 0x3f;
		break;
	case PL011_MASK:
		port->mask = value & PL011_INTERRUPTS;
		break;
	case PL011_CLEAR:
		port->sent = port->sent && !(value & PL011_SENT);
		break;
	}
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
