/* The 16550 as polling guests use it (National PC16550D data sheet). Called under the devices'
 * lock. */
#include "serial.h"

enum { DATA, INTERRUPTS, FIFO, LINE, MODEM, STATUS, MODEM_STATUS };

#define LINE_DIVISOR	  0x80
#define MODEM_LOOP	  0x10
#define STATUS_EMPTY	  0x60 /* holding and shift register */
#define NO_INTERRUPT	  0xc1 /* of the identification register, read at FIFO; FIFOs are on */
#define MODEM_STATUS_IDLE 0xb0 /* carrier, data set ready, clear to send */

static void write_register(struct serial *serial, uint64_t number, uint8_t value)
{
	if (serial->registers[LINE] & LINE_DIVISOR && number <= INTERRUPTS) {
		serial->divisor[number] = value;
		return;
	}
	serial->registers[number] = value;
	if (number == DATA && serial->send && !(serial->registers[MODEM] & MODEM_LOOP))
		serial->send(serial->context, value);
}

static uint8_t read_register(const struct serial *serial, uint64_t number)
{
	if (serial->registers[LINE] & LINE_DIVISOR && number <= INTERRUPTS)
		return serial->divisor[number];
	switch (number) {
	case DATA:
		return 0; /* nothing is ever received */
	case FIFO:
		return NO_INTERRUPT;
	case STATUS:
		return STATUS_EMPTY;
	case MODEM_STATUS:
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
