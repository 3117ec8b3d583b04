/* This architecture's page-table entries (Privileged Architecture, Sv48 and Sv39); core/paging.h explains the names. */
#ifndef PAGE_ENTRY_H
#define PAGE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#define ENTRY_VALID    1ull
#define ENTRY_READ     (1ull << 1)
#define ENTRY_WRITE    (1ull << 2)
#define ENTRY_EXECUTE  (1ull << 3)
#define ENTRY_ACCESSED (1ull << 6)
#define ENTRY_DIRTY    (1ull << 7)
#define ENTRY_NUMBER   0x003ffffffffffc00ull /* of the physical page */
#define ENTRY_SHIFT    2		     /* from an address to the page's number in its place */

#define TOP_SHIFT_SV48 39
#define TOP_SHIFT_SV39 30

/* Sv48's, or Sv39's if the CPU has no Sv48: boot_map() chooses. */
extern unsigned page_top_shift;

#define TOP_SHIFT    page_top_shift
/* The upper half of the addresses, which are sign-extended, without the last entry (paging.c). */
#define WINDOW_BASE  (-(256ull << TOP_SHIFT))
#define WINDOW_BYTES (255ull << TOP_SHIFT)

static inline uint64_t entry_address(uint64_t entry)
{
	return (entry & ENTRY_NUMBER) << ENTRY_SHIFT;
}

static inline uint64_t entry_of_table(uint64_t table)
{
	return table >> ENTRY_SHIFT | ENTRY_VALID;
}

/* In paging.c: it depends on whether the hardware sets accessed bits. */
uint64_t entry_of_page(uint64_t pa, unsigned shift);

static inline bool entry_is_page(uint64_t entry, unsigned shift)
{
	return shift == 12 || entry & (ENTRY_READ | ENTRY_EXECUTE);
}

#endif
