/* Free memory; see memory.h. Pure. */
#include "core/memory.h"

#define PAGE 0x1000ull

bool memory_take_away(struct memory *memory, uint64_t start, uint64_t end)
{
	unsigned count = memory->count;

	start &= ~(PAGE - 1);
	end = (end + PAGE - 1) & ~(PAGE - 1);
	for (unsigned i = 0; i < count; i++) {
		struct memory_range *range = &memory->free[i], whole = *range;

		if (end <= whole.start || whole.end <= start)
			continue;
		range->end = start > whole.start ? start : whole.start;
		if (end >= whole.end)
			continue;
		if (memory->count == MAX_RANGES)
			return false;
		memory->free[memory->count++] = (struct memory_range){ end, whole.end };
	}
	return true;
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
