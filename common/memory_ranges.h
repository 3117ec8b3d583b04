/* Lists of free memory ranges. Pure. */
#ifndef COMMON_MEMORY_RANGES_H
#define COMMON_MEMORY_RANGES_H

#include <stdbool.h>

#include "common/limits.h"

/* Removes [start, end) from the ranges, in whole 4 KiB pages. False: more than MAX_RANGES would be needed,
 * and the part after the hole is lost. */
bool ranges_take_away(struct memory_range ranges[MAX_RANGES], unsigned *count, uint64_t start,
		      uint64_t end);

#endif
