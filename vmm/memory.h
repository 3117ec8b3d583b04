/* A guest's memory: where the host keeps which guest-physical address. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>

#include "error.h"

#define MAX_REGIONS 2

struct region {
	uint64_t guest, bytes; /* guest-physical */
	uint8_t *host;
};

struct memory {
	struct region regions[MAX_REGIONS]; /* in order of their guest addresses */
	unsigned count;
	uint8_t *base; /* one mapping holds all regions */
	uint64_t bytes;
};

/* What lies behind the guest's memory on the host. THP would let one touch bring 512 pages. */
enum backing { BACKING_4K, BACKING_THP, BACKING_HUGETLB };

/* Maps memory->bytes, which the regions together have, and gives each region its part. */
bool memory_map(struct memory *memory, enum backing backing, struct error *error);
void memory_unmap(struct memory *memory);

/* The host's address of [guest, guest + bytes); NULL where not all of it is memory. */
void *memory_at(const struct memory *memory, uint64_t guest, uint64_t bytes);

/* How many of the host's pages the guest's memory has, now, by /proc/self/pagemap: those that
 * are present or swapped out. False where that cannot be read. */
bool memory_pages(const struct memory *memory, uint64_t *pages);

#endif
