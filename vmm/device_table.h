/* The table of devices: each row handles a range of I/O ports or guest-physical addresses. Also the device
 * that all machines have, a serial port (serial.c). */
#pragma once

#include <pthread.h>

#include "vmm/host.h"

enum space { SPACE_PORT, SPACE_MMIO };

/* A guest's access: 1 to 8 bytes, `offset` from the row's first address. `value` is what is written; for
 * reads it is all ones and receives the result. */
struct access {
	bool write;
	unsigned bytes;
	uint64_t offset, value;
};

struct device {
	const char *name;
	enum space space;
	uint64_t first, count;
	void (*access)(void *context, struct access *access);
	void *context;
};

#define MAX_DEVICES 16

struct devices {
	pthread_mutex_t lock; /* held during each access: devices need no locks */
	struct device rows[MAX_DEVICES];
	unsigned count;
	uint64_t nowhere; /* accesses outside all rows */
};

/* Adds a row. Overlapping rows are an error. */
bool devices_add(struct devices *devices, const struct device *row);
/* Performs a guest's access of `bytes` little-endian bytes. Without a device, reads give all ones and
 * writes are ignored, as on a PC's bus; both are counted. */
void devices_access(struct devices *devices, enum space space, uint64_t address, bool write,
		    uint8_t *data, unsigned bytes);

#define SERIAL_REGISTERS 8

/* A 16550 that only sends, and is always ready to. */
struct serial {
	uint8_t registers[SERIAL_REGISTERS]; /* as written; not all are read back */
	uint8_t divisor[2];
	bool sent;  /* transmit interrupt pending: the guest has not read it yet */
	bool level; /* of the interrupt line */
	void (*send)(void *context, uint8_t byte);    /* NULL: output is discarded */
	void (*interrupt)(void *context, bool level); /* NULL: not connected */
	void *context;
};

/* A row's access function; the context is a struct serial. */
void serial_access(void *context, struct access *access);
