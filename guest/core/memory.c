/*
 * Physical memory: a heap that only grows, and a region that stays untouched until a benchmark takes pages
 * from it. Order of use: main, paging, rows.
 */
#include "guest/core/guest_arch.h"
#include "guest/core/share.h"

#define LOWEST	       MIB /* the first MiB is for firmware and for starting CPUs */
#define MAX_HEAP_BYTES (64 * MIB)

static struct memory_range heap, untouched;

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) & ~(to - 1);
}

static uint64_t size_of(const struct memory_range *range)
{
	return range->end > range->start ? range->end - range->start : 0;
}

uint64_t memory_bytes(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < boot_info.ram_count; i++)
		sum += size_of(&boot_info.ram[i]);
	return sum;
}

bool early_mem_init(uint64_t shift_pages)
{
	for (unsigned i = 0; i < boot_info.ram_count; i++) {
		struct memory_range range = boot_info.ram[i], low;

		if (range.start < LOWEST)
			range.start = LOWEST;
		if (range.start < boot_info.reserved_end)
			range.start = boot_info.reserved_end;
		low = range;
		if (low.end > boot_info.mapped_end)
			low.end = boot_info.mapped_end;
		low.start = round_up(low.start, 4 * KIB);
		/* The heap is in the first large range, because it must be mapped from the start. */
		if (!size_of(&heap) && size_of(&low) >= 4 * MIB) {
			heap = low;
			if (size_of(&heap) / 2 > MAX_HEAP_BYTES)
				heap.end = heap.start + MAX_HEAP_BYTES;
			else
				heap.end = heap.start + size_of(&heap) / 2;
			heap.end &= ~(4 * KIB - 1);
			range.start = heap.end;
		}
		if (size_of(&range) > size_of(&untouched))
			untouched = range;
	}
	if (!size_of(&heap))
		return false;
	heap.start += shift_pages * 4 * KIB;
	untouched.start += shift_pages * 4 * KIB;
	return true;
}

void *heap_alloc_page(uint64_t page_bytes)
{
	uint64_t start = round_up(heap.start, page_bytes);
	uint64_t *words = (uint64_t *)start;

	if (!size_of(&heap) || start >= heap.end || heap.end - start < page_bytes)
		return NULL;
	heap.start = start + page_bytes;
	share_pages(start, heap.start);
	for (uint64_t i = 0; i < page_bytes / sizeof(*words); i++)
		words[i] = 0;
	return words;
}

uint64_t untouched_pages(uint64_t page_bytes)
{
	uint64_t start = round_up(untouched.start, page_bytes);

	return start < untouched.end ? (untouched.end - start) / page_bytes : 0;
}

uint64_t untouched_take(uint64_t page_bytes, uint64_t pages)
{
	uint64_t start = round_up(untouched.start, page_bytes);

	if (!pages || untouched_pages(page_bytes) < pages)
		return 0;
	untouched.start = start + pages * page_bytes;
	return start;
}
