/* A 16550 serial port that only sends, and is always ready to. */
#ifndef SERIAL_H
#define SERIAL_H

#include "devices.h"

#define SERIAL_REGISTERS 8

struct serial {
	uint8_t registers[SERIAL_REGISTERS]; /* as written; of reads only those that keep a byte */
	uint8_t divisor[2];
	void (*send)(void *context, uint8_t byte); /* NULL: what is sent is discarded */
	void *context;
};

/* A row's access function; the context is a struct serial. */
void serial_access(void *context, const struct access *access);

#endif
