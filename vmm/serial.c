/* A 16550 serial port (National PC16550D data sheet). Called under the devices' lock. */
#include "vmm/device_table.h"

enum { DATA, INTERRUPTS, FIFO, LINE, MODEM, STATUS, MODEM_STATUS };

#define INTERRUPTS_MASK	  0x0f /* the rest of the register reads as 0 */
#define INTERRUPT_ROOM	  0x02 /* the transmitter is empty */
#define LINE_DIVISOR	  0x80
#define MODEM_LOOP	  0x10
#define STATUS_EMPTY	  0x60 /* holding and shift register */
#define NO_INTERRUPT	  0xc1 /* in the identification register (at FIFO); FIFOs are on */
#define ROOM_INTERRUPT	  0xc2
#define MODEM_STATUS_IDLE 0xb0 /* carrier, data set ready, clear to send */

static void set_line(struct serial *serial)
{
	bool level = serial->sent && serial->registers[INTERRUPTS] & INTERRUPT_ROOM;

	if (level == serial->level || !serial->interrupt)
		return;
	serial->level = level;
	serial->interrupt(serial->context, level);
}

static void write_register(struct serial *serial, uint64_t number, uint8_t value)
{
	if (serial->registers[LINE] & LINE_DIVISOR && number <= INTERRUPTS) {
		serial->divisor[number] = value;
		return;
	}
	serial->registers[number] = number == INTERRUPTS ? value & INTERRUPTS_MASK : value;
	if (number > INTERRUPTS)
		return;
	if (number == DATA && serial->send && !(serial->registers[MODEM] & MODEM_LOOP))
		serial->send(serial->context, value);
	/* Bytes are sent at once, so the transmitter is empty again; enabling its interrupt raises it at
	 * once. */
	serial->sent = true;
	set_line(serial);
}

static uint8_t read_register(struct serial *serial, uint64_t number)
{
	if (serial->registers[LINE] & LINE_DIVISOR && number <= INTERRUPTS)
		return serial->divisor[number];
	switch (number) {
	case DATA:
		return 0; /* nothing is ever received */
	case FIFO:
		if (!serial->sent || !(serial->registers[INTERRUPTS] & INTERRUPT_ROOM))
			return NO_INTERRUPT;
		serial->sent = false;
		set_line(serial);
		return ROOM_INTERRUPT;
	case STATUS:
		return STATUS_EMPTY;
	case MODEM_STATUS:
		return MODEM_STATUS_IDLE;
	default:
		return serial->registers[number];
	}
}

/* Registers are one byte wide: a wider access goes to several in a row. */
void serial_access(void *context, struct access *access)
{
	struct serial *serial = context;
	uint8_t *data = (uint8_t *)&access->value; /* little-endian, like this CPU */

	for (unsigned i = 0; i < access->bytes && access->offset + i < SERIAL_REGISTERS; i++)
		if (access->write)
			write_register(serial, access->offset + i, data[i]);
		else
			data[i] = read_register(serial, access->offset + i);
}
