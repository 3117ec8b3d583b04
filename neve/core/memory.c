/* Allocates the machine's memory; see memory.h. Pure. */
#include "core/memory.h"

#include "common/memory_ranges.h"

bool memory_take_away(struct memory *memory, uint64_t start, uint64_t end)
{
	return ranges_take_away(memory->free, &memory->count, start, end);
}

bool ranges_overlap(const struct memory_range *a, const struct memory_range *b)
{
	return a->start < b->end && b->start < a->end;
}

uint64_t memory_take(struct memory *memory, uint64_t bytes, uint64_t alignment)
{
	for (unsigned i = 0; i < memory->count; i++) {
		const struct memory_range *range = &memory->free[i];
		uint64_t start = (range->start + alignment - 1) & ~(alignment - 1);

		if (start < range->start || start >= range->end || range->end - start < bytes)
			continue;
		if (!memory_take_away(memory, start, start + bytes))
			return 0;
		return start;
	}
	return 0;
}
