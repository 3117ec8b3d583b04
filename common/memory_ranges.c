/* Lists of free memory; see memory_ranges.h. */
#include "common/memory_ranges.h"

#define PAGE (4 * KIB)

bool ranges_take_away(struct memory_range ranges[MAX_RANGES], unsigned *count, uint64_t start,
		      uint64_t end)
{
	unsigned before = *count;
	bool good = true;

	start &= ~(PAGE - 1);
	end = (end + PAGE - 1) & ~(PAGE - 1);
	for (unsigned i = 0; i < before; i++) {
		struct memory_range whole = ranges[i];

		if (end <= whole.start || whole.end <= start)
			continue;
		ranges[i].end = start > whole.start ? start : whole.start;
		if (end >= whole.end)
			continue;
		good &= *count < MAX_RANGES;
		if (*count < MAX_RANGES)
			ranges[(*count)++] = (struct memory_range){ end, whole.end };
	}
	return good;
}
