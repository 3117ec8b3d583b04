/* The 16550 as polling guests use it (National PC16550D data sheet). Called under the devices'
 * lock. */
#include "serial.h"

enum {
	REGISTER_DATA,
	REGISTER_INTERRUPTS,
	REGISTER_FIFO, /* read: interrupt identification */
	REGISTER_LINE,
	REGISTER_MODEM,
	REGISTER_STATUS,
	REGISTER_MODEM_STATUS,
	REGISTER_SCRATCH,
};

#define LINE_DIVISOR	  0x80
#define MODEM_LOOP	  0x10
#define STATUS_EMPTY	  0x60 /* holding and shift register */
#define IDENTIFY_NONE	  0x01
#define IDENTIFY_FIFO	  0xc0
#define FIFO_ENABLE	  0x01
#define MODEM_STATUS_IDLE 0xb0 /* carrier, data set ready, clear to send */

static void write_register(struct serial *serial, uint64_t number, uint8_t value)
{
	bool divisor = serial->registers[REGISTER_LINE] & LINE_DIVISOR;

	if (divisor && number <= REGISTER_INTERRUPTS) {
		serial->divisor[number] = value;
		return;
	}
	serial->registers[number] = value;
	if (number == REGISTER_DATA && serial->send &&
	    !(serial->registers[REGISTER_MODEM] & MODEM_LOOP))
		serial->send(serial->context, value);
}

static uint8_t read_register(const struct serial *serial, uint64_t number)
{
	bool divisor = serial->registers[REGISTER_LINE] & LINE_DIVISOR;

	if (divisor && number <= REGISTER_INTERRUPTS)
		return serial->divisor[number];
	switch (number) {
	case REGISTER_DATA:
		return 0; /* nothing is ever received */
	case REGISTER_FIFO:
		return serial->registers[REGISTER_FIFO] & FIFO_ENABLE
			       ? IDENTIFY_NONE | IDENTIFY_FIFO
			       : IDENTIFY_NONE;
	case REGISTER_STATUS:
		return STATUS_EMPTY;
	case REGISTER_MODEM_STATUS:
		return MODEM_STATUS_IDLE;
	default:
		return serial->registers[number];
	}
}

/* Its registers are a byte wide: a wider access goes to as many in a row. */
void serial_access(void *context, const struct access *access)
{
	struct serial *serial = context;

	for (unsigned i = 0; i < access->bytes && access->offset + i < SERIAL_REGISTERS; i++) {
		if (access->write)
			write_register(serial, access->offset + i, access->data[i]);
		else
			access->data[i] = read_register(serial, access->offset + i);
	}
}
