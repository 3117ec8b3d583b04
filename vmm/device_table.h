/* The table of devices: each row answers a range of ports or of guest-physical addresses. And the
 * device that all machines have, a serial port (serial.c). */
#pragma once

#include <pthread.h>

#include "vmm/host.h"

enum space { SPACE_PORT, SPACE_MMIO };

/* One access of a guest: 1 to 8 bytes, `offset` from the row's first address. `value` is what is
 * written, or takes what is read, and is all ones then. */
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
	pthread_mutex_t lock; /* held during each access: rows need none of their own */
	struct device rows[MAX_DEVICES];
	unsigned count;
	uint64_t nowhere; /* accesses that no row answered */
};

/* Adds a row. One that overlaps another is an error. */
bool devices_add(struct devices *devices, const struct device *row);
/* Does one access of a guest, of `bytes` little-endian bytes. Where no device is, reads give all
 * ones and writes go nowhere, as on a PC's bus; both are counted. */
void devices_access(struct devices *devices, enum space space, uint64_t address, bool write,
		    uint8_t *data, unsigned bytes);

#define SERIAL_REGISTERS 8

/* A 16550 that only sends, and is always ready to. */
struct serial {
	uint8_t registers[SERIAL_REGISTERS]; /* as written; of reads only those that keep a byte */
	uint8_t divisor[2];
	bool sent;  /* and the guest has not been told yet that there is room again */
	bool level; /* of the interrupt line */
	void (*send)(void *context, uint8_t byte);    /* NULL: what is sent is discarded */
	void (*interrupt)(void *context, bool level); /* NULL: the line leads nowhere */
	void *context;
};

/* A row's access function; the context is a struct serial. */
void serial_access(void *context, struct access *access);
