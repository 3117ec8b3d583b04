/* Lists of memory that is free. Pure. */
#ifndef COMMON_MEMORY_RANGES_H
#define COMMON_MEMORY_RANGES_H

#include <stdbool.h>

#include "common/limits.h"

/* Takes [start, end) out of the ranges, in whole pages of 4 KiB. False: there would be more than MAX_RANGES, and
 * what lies behind a hole is lost. */
bool ranges_take_away(struct memory_range ranges[MAX_RANGES], unsigned *count, uint64_t start,
		      uint64_t end);

#endif
