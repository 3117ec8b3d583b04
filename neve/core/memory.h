/* The machine's free memory, from which pieces are taken and never returned. Pure. Only for set-up, on
 * the first CPU. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"

struct memory {
	struct memory_range free[MAX_RANGES];
	unsigned count;
};

/* Filled by main.c. */
extern struct memory machine_memory;

/* Removes [start, end) from the free ranges, rounded out to 4 KiB. Returns false if there are too many
 * ranges. */
bool memory_take_away(struct memory *memory, uint64_t start, uint64_t end);

bool ranges_overlap(const struct memory_range *a, const struct memory_range *b);

/* Takes `bytes` of free memory, aligned to `alignment` (a power of two). Returns 0 if no range is large
 * enough. */
uint64_t memory_take(struct memory *memory, uint64_t bytes, uint64_t alignment);

#endif
