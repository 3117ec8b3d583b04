/* Walks and fills page tables, for POSIH. Their initial set-up and the CPU's registers are in arch/. */
#include "guest/core/paging.h"
#include "guest/core/guest_arch.h"
#include <arch/page_entry.h>
#include <arch/timed.h>

uint64_t *page_root;

static unsigned shift_of(uint64_t page_bytes)
{
	return page_bytes == GIB ? 30 : page_bytes == 2 * MIB ? 21 : 12;
}

bool install_pte(uint64_t va, uint64_t pa, uint64_t page_bytes)
{
	unsigned last = shift_of(page_bytes);
	uint64_t *table = page_root;

	/* Only the window is mapped. With three levels the largest working set does not fit in it. */
	if (TOP_SHIFT == 30 && va - WINDOW_BASE >= WINDOW_BYTES)
		return false;
	for (unsigned shift = TOP_SHIFT; shift > last; shift -= 9) {
		uint64_t *entry = page_slot(table, va, shift);

		if (!(*entry & ENTRY_VALID)) {
			void *page = heap_alloc_page(4 * KIB);

			if (!page)
				return false;
			*entry = entry_of_table((uint64_t)page);
		}
		table = (uint64_t *)entry_address(*entry);
	}
	*page_slot(table, va, last) = entry_of_page(pa, last);
	paging_changed();
	return true;
}

uint64_t *page_walk(uint64_t va, unsigned *shift)
{
	uint64_t *table = page_root;

	for (*shift = TOP_SHIFT;; *shift -= 9) {
		uint64_t *entry = page_slot(table, va, *shift);

		if (!(*entry & ENTRY_VALID))
			return NULL;
		if (entry_is_page(*entry, *shift))
			return entry;
		table = (uint64_t *)entry_address(*entry);
	}
}

bool translate(uint64_t va, uint64_t *pa, uint64_t *page_bytes)
{
	unsigned shift;
	const uint64_t *entry = page_walk(va, &shift);

	if (!entry)
		return false;
	*page_bytes = 1ull << shift;
	*pa = (entry_address(*entry) & ~(*page_bytes - 1)) | (va & (*page_bytes - 1));
	return true;
}

bool page_accessed(uint64_t va)
{
	unsigned shift;
	const uint64_t *entry = page_walk(va, &shift);

	return entry && *entry & ENTRY_ACCESSED;
}

uint64_t window_base(void)
{
	return WINDOW_BASE;
}

void window_clear(void)
{
	for (uint64_t at = 0; at < WINDOW_BYTES; at += 1ull << TOP_SHIFT)
		*page_slot(page_root, WINDOW_BASE + at, TOP_SHIFT) = 0;
	mem_tlb_flush();
}

uint64_t cpu_page_table_root(void)
{
	return (uint64_t)page_root;
}
