/* The table of devices: each row answers a range of ports or of guest-physical addresses. */
#ifndef DEVICES_H
#define DEVICES_H

#include <pthread.h>
#include <stdint.h>

#include "error.h"

enum space { SPACE_PORT, SPACE_MMIO };

/* One access of a guest: `offset` from the row's first address, 1 to 8 bytes. `data` is what is
 * written, or takes what is read, and holds all ones then. */
struct access {
	bool write;
	uint64_t offset;
	uint8_t *data;
	unsigned bytes;
};

struct device {
	const char *name;
	enum space space;
	uint64_t first, count;
	void (*access)(void *context, const struct access *access);
	void *context;
};

#define MAX_DEVICES 16

struct devices {
	pthread_mutex_t lock; /* held during each access: rows need none of their own */
	struct device rows[MAX_DEVICES];
	unsigned count;
	uint64_t nowhere; /* accesses that no row answered */
};

void devices_init(struct devices *devices);

/* Adds a row. One that overlaps another is an error. */
bool devices_add(struct devices *devices, const struct device *row, struct error *error);

/* The row that answers this address; NULL: none does. */
const struct device *devices_find(const struct devices *devices, enum space space,
				  uint64_t address);

/* Does one access of a guest. Where no device is, reads give all ones and writes go nowhere, as on
 * a PC's bus; both are counted. */
void devices_access(struct devices *devices, enum space space, uint64_t address, bool write,
		    uint8_t *data, unsigned bytes);

/* The value of a write, little-endian. */
uint64_t access_value(const struct access *access);

/* Answers a read. */
void access_answer(const struct access *access, uint64_t value);

#endif
