/*
 * Translation tables of VMSAv8-64 with 4 KiB granules (DDI 0487, D8.3). The hypervisor's own stage 1 and
 * the VMs' stage 2 are built by the same code; only the attributes of leaves differ. The root is two tables
 * of level 1, one behind the other (concatenated, D8.2.3): 40 bits of input address, as many as a guest
 * hypervisor's CPU has for its VM. Stage 1 knows no such roots, and walks only the first. Pure.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_BYTES	  0x1000ull
#define BLOCK_BYTES	  0x200000ull	/* a leaf of level 2 */
#define LARGE_BYTES	  0x40000000ull /* a leaf of level 1 */
#define TABLE_ENTRIES	  512
#define TABLE_ROOTS	  2
#define TABLE_INPUT_BITS  40
#define STAGE1_INPUT_BITS 39

/* Zeroed pages for tables. Their physical addresses are the addresses by which we write them. */
struct table_pool {
	uint64_t next, end;
	uint64_t
		returned; /* a page that was given back, whose first word has the next one; 0: none */
};

struct table {
	uint64_t *root;
	struct table_pool *pool;
};

/* Makes an empty table; its root begins at a multiple of its size. Returns false if the pool has not enough
 * pages. */
bool table_init(struct table *table, struct table_pool *pool);

/*
 * Maps [from, from + bytes) to [to, to + bytes), with leaves as large as alignment allows but at most
 * `largest` (one of the sizes above). `attributes`: bits of the leaves other than address and type. All
 * addresses and sizes must be multiples of 4 KiB. Returns false if something is mapped there already,
 * the pool is used up, or an address is out of range; what was mapped before the error stays.
 * Entries only change from invalid to valid, which needs no TLB maintenance (D8.16.1); the caller
 * makes them visible to the walkers.
 */
bool table_map(struct table *table, uint64_t from, uint64_t to, uint64_t bytes, uint64_t attributes,
	       uint64_t largest);

/* Unmaps the 2 MiB around `from`, whatever is mapped there. Returns false if nothing was mapped. The caller
 * invalidates the TLBs, and then gives back the table that was below; `*below` is 0 if there was none. */
bool table_unmap_block(struct table *table, uint64_t from, uint64_t *below);
void table_give_back(struct table *table, uint64_t below);

/* The entries of the pages around `from`, or NULL if none of these 2 MiB is mapped by pages. */
uint64_t *table_pages(const struct table *table, uint64_t from);

/* Unmaps the page at `from`, which is mapped as a page. The caller invalidates the TLBs. */
void table_unmap_page(struct table *table, uint64_t from);

struct table_leaf {
	uint64_t output; /* of that byte */
	uint64_t bytes;	 /* of the page or block */
	uint64_t attributes;
};

/* Finds what `from` is mapped to. Returns false if it is not mapped. */
bool table_walk(const struct table *table, uint64_t from, struct table_leaf *leaf);

/* The most pages, root included, that tables need to map `bytes` of contiguous input with leaves of
 * `leaf_bytes`. */
uint64_t table_pages_needed(uint64_t bytes, uint64_t leaf_bytes);

#endif
