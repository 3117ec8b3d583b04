/*
 * One entry of a page table as this architecture has it (DDI 0487, D8.3). core/paging.h says what
 * each of these is for.
 */
#ifndef PAGE_ENTRY_H
#define PAGE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#define ENTRY_VALID    1ull
#define ENTRY_TABLE    2ull	   /* at the last level: page */
#define ENTRY_NORMAL   (1ull << 2) /* attributes 1 of MAIR, else 0 */
#define ENTRY_EL2_RES1 (1ull << 6) /* AP[1], where EL2 has tables of its own kind */
#define ENTRY_INNER    (3ull << 8) /* shareable */
#define ENTRY_ACCESSED (1ull << 10)
#define ENTRY_NO_EXEC  (3ull << 53)
#define ENTRY_ADDRESS  0x0000fffffffff000ull

static inline uint64_t entry_of_table(uint64_t table)
{
	return table | ENTRY_TABLE | ENTRY_VALID;
}

/* In paging.c: what it is depends on the level and on what the hardware keeps. */
uint64_t entry_of_page(uint64_t pa, unsigned shift);

static inline bool entry_is_page(uint64_t entry, unsigned shift)
{
	return shift == 12 || !(entry & ENTRY_TABLE);
}

#endif
