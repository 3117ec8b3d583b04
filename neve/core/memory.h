/* The machine's memory: ranges that are free, and pieces that are taken of them for ever. Pure. Used
 * while the machine is set up, by its first CPU alone. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"

struct memory {
	struct memory_range free[MAX_RANGES];
	unsigned count;
};

/* The machine's; main.c fills it. */
extern struct memory machine_memory;

/* Takes [start, end) out of what is free, in whole pages of 4 KiB. False: there are too many pieces. */
bool memory_take_away(struct memory *memory, uint64_t start, uint64_t end);

/* `bytes` of free memory on a boundary of `alignment` (a power of two); 0: there is no such piece. */
uint64_t memory_take(struct memory *memory, uint64_t bytes, uint64_t alignment);

#endif
