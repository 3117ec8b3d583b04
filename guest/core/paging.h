/*
 * The guest's own page tables, as both sides see them: four levels of 512 entries of 8 bytes, pages
 * of 4 KiB, 2 MiB and 1 GiB. arch/ says in page_entry.h what an entry looks like
 *
 *   ENTRY_VALID, ENTRY_ACCESSED, ENTRY_ADDRESS    bits of an entry, the last a mask
 *   entry_of_table(table), entry_of_page(pa, shift)
 *   entry_is_page(entry, shift)                   of a valid one: a page and no table?
 *
 * where `shift` is the level by the bits of address below it: 39, 30, 21, 12.
 */
#ifndef PAGING_H
#define PAGING_H

#include <stdbool.h>
#include <stdint.h>

/* The table at the top. arch/ makes it, before anything here is called. */
extern uint64_t *page_root;

/* Entries that paging_changed() has not seen yet may be unknown to the CPU's walker. */
void paging_changed(void);

/* The entry of `table` for va. */
static inline uint64_t *page_slot(uint64_t *table, uint64_t va, unsigned shift)
{
	return &table[va >> shift & 511];
}

/* The entry that maps va, and its level; NULL where va is not mapped. */
uint64_t *page_walk(uint64_t va, unsigned *shift);

#endif
