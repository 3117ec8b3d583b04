/* This architecture's page-table entries (Intel SDM vol. 3A, 4.5); core/paging.h explains the names. */
#ifndef PAGE_ENTRY_H
#define PAGE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#define ENTRY_VALID    1ull
#define ENTRY_WRITABLE 2ull
#define ENTRY_USER     4ull
#define ENTRY_ACCESSED (1ull << 5)
#define ENTRY_DIRTY    (1ull << 6)
#define ENTRY_LARGE    (1ull << 7)
#define ENTRY_ADDRESS  0x000ffffffffff000ull

#define TOP_SHIFT    39
#define WINDOW_BASE  (128ull << TOP_SHIFT) /* below the non-canonical hole */
#define WINDOW_BYTES (1ull << TOP_SHIFT)

static inline uint64_t entry_address(uint64_t entry)
{
	return entry & ENTRY_ADDRESS;
}

static inline uint64_t entry_of_table(uint64_t table)
{
	return table | ENTRY_VALID | ENTRY_WRITABLE | ENTRY_USER;
}

static inline uint64_t entry_of_page(uint64_t pa, unsigned shift)
{
	return pa | ENTRY_VALID | ENTRY_WRITABLE | (shift > 12 ? ENTRY_LARGE : 0);
}

static inline bool entry_is_page(uint64_t entry, unsigned shift)
{
	return shift == 12 || (shift < 39 && entry & ENTRY_LARGE);
}

#endif
