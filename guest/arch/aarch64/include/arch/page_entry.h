/* This architecture's page-table entries (DDI 0487, D8.3); core/paging.h explains the names. */
#ifndef PAGE_ENTRY_H
#define PAGE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#define ENTRY_VALID    1ull
#define ENTRY_TABLE    2ull	   /* at the last level: page */
#define ENTRY_NORMAL   (1ull << 2) /* attributes 1 of MAIR, else 0 */
#define ENTRY_EL2_RES1 (1ull << 6) /* AP[1], in EL2's own tables */
#define ENTRY_INNER    (3ull << 8) /* shareable */
#define ENTRY_ACCESSED (1ull << 10)
#define ENTRY_NO_EXEC  (3ull << 53)
#define ENTRY_ADDRESS  0x0000fffffffff000ull

#define TOP_SHIFT    39
#define WINDOW_BASE  (128ull << TOP_SHIFT)
#define WINDOW_BYTES (1ull << TOP_SHIFT)

static inline uint64_t entry_address(uint64_t entry)
{
	return entry & ENTRY_ADDRESS;
}

static inline uint64_t entry_of_table(uint64_t table)
{
	return table | ENTRY_TABLE | ENTRY_VALID;
}

/* In paging.c: it depends on the exception level and on hardware management of the access flag. */
uint64_t entry_of_page(uint64_t pa, unsigned shift);

static inline bool entry_is_page(uint64_t entry, unsigned shift)
{
	return shift == 12 || !(entry & ENTRY_TABLE);
}

#endif
