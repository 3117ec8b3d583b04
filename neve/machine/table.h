/*
 * Translation tables of VMSAv8-64 with 4 KiB granules (DDI 0487, D8.3): the hypervisor's own stage 1
 * and the VMs' stage 2 are built by the same code and differ in their leaves' attributes alone. The
 * root is one table of level 1: 39 bits of input address. Pure.
 */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_BYTES	 0x1000ull
#define BLOCK_BYTES	 0x200000ull   /* a leaf of level 2 */
#define LARGE_BYTES	 0x40000000ull /* a leaf of level 1 */
#define TABLE_ENTRIES	 512
#define TABLE_INPUT_BITS 39

/* Pages for tables, zeroed, whose physical addresses are the addresses by which we write them. */
struct table_pool {
	uint64_t next, end;
};

struct table {
	uint64_t *root;
	struct table_pool *pool;
};

/* An empty table. False: the pool has no page. */
bool table_init(struct table *table, struct table_pool *pool);

/*
 * Maps [from, from + bytes) to [to, to + bytes), in pieces as large as alignment allows but none above
 * `largest` (one of the sizes above). `attributes`: bits of the leaves beside address and type. All
 * must be multiples of 4 KiB. False: something there is mapped already, the pool is used up, or an
 * address is out of range; what was mapped before that stays.
 * Entries only ever go from invalid to valid, which needs no TLB maintenance (D8.16.1); the caller
 * makes them visible to the walkers.
 */
bool table_map(struct table *table, uint64_t from, uint64_t to, uint64_t bytes, uint64_t attributes,
	       uint64_t largest);

/* Unmaps the 2 MiB around `from`, whatever is mapped there; the table below is not used again. False: nothing
 * was. The caller invalidates the TLBs. */
bool table_unmap_block(struct table *table, uint64_t from);

struct table_leaf {
	uint64_t output; /* the very byte's */
	uint64_t bytes;	 /* of the page or block */
	uint64_t attributes;
};

/* What `from` is mapped to; false: to nothing. */
bool table_walk(const struct table *table, uint64_t from, struct table_leaf *leaf);

/* The most pages that tables of `bytes` of contiguous input need whose leaves have `leaf_bytes`, the
 * root included. */
uint64_t table_pages_needed(uint64_t bytes, uint64_t leaf_bytes);

#endif
