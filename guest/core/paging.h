/*
 * The guest's own page tables, shared by core/ and arch/: four levels of 512 entries of 8 bytes, or three;
 * pages of 4 KiB, 2 MiB and 1 GiB. arch/'s page_entry.h defines the entries and the layout:
 *
 *   ENTRY_VALID, ENTRY_ACCESSED                   bits of an entry
 *   entry_address(entry)                          of the table or page that it names
 *   entry_of_table(table), entry_of_page(pa, shift)
 *   entry_is_page(entry, shift)                   is this valid entry a page, not a table?
 *   TOP_SHIFT                                     the top level: 39, or 30 with three levels
 *   WINDOW_BASE, WINDOW_BYTES                     the window: whole entries of the top-level table
 *
 * `shift` identifies the level by the number of address bits below it: 39, 30, 21, 12.
 */
#ifndef PAGING_H
#define PAGING_H

#include <stdbool.h>
#include <stdint.h>

/* The top-level table; arch/ sets it before anything here is called. */
extern uint64_t *page_root;

/* Call it after changing entries: until then the CPU's walker may not see them. */
void paging_changed(void);

/* The entry for va in `table`. */
static inline uint64_t *page_slot(uint64_t *table, uint64_t va, unsigned shift)
{
	return &table[va >> shift & 511];
}

/* The entry that maps va, and its level; NULL if va is not mapped. */
uint64_t *page_walk(uint64_t va, unsigned *shift);

#endif
