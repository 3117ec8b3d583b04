/* The table of a VM's devices: each row handles a range of guest-physical addresses. */
#ifndef DEVICES_H
#define DEVICES_H

#include "core/access.h"
#include "core/counts.h"

struct vcpu;

struct device {
	const char *name;
	uint64_t first, count; /* bytes */
	enum cause cause;      /* of reads; the next cause is writes */
	void (*access)(struct vcpu *vcpu, void *context, struct access *access);
	void *context;
};

#define MAX_DEVICES 8

struct devices {
	struct device rows[MAX_DEVICES];
	unsigned count;
};

/* Adds a row, which must not overlap another one. Returns false if the table is full. */
bool devices_add(struct devices *devices, const struct device *row);

/* The row that contains all of [address, address + bytes), or NULL. */
const struct device *devices_find(const struct devices *devices, uint64_t address, unsigned bytes);

#endif
