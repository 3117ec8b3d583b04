/* Builds and walks translation tables; see table.h. Pure. */
#include "tables/table.h"

#include <stddef.h>

#include "cpu/bits.h"

#define TOP_SHIFT  30
#define LAST_SHIFT 12

static uint64_t *new_table(struct table_pool *pool)
{
	uint64_t *page = (uint64_t *)(uintptr_t)pool->returned;

	if (page) {
		pool->returned = page[0];
		page[0] = 0;
		return page;
	}
	page = (uint64_t *)(uintptr_t)pool->next;
	if (pool->end - pool->next < PAGE_BYTES)
		return NULL;
	pool->next += PAGE_BYTES;
	return page;
}

bool table_init(struct table *table, struct table_pool *pool)
{
	const uint64_t bytes = TABLE_ROOTS * PAGE_BYTES;
	uint64_t root = (pool->next + bytes - 1) & ~(bytes - 1);

	if (root > pool->end || pool->end - root < bytes)
		return false;
	pool->next = root + bytes;
	*table = (struct table){ .root = (uint64_t *)(uintptr_t)root, .pool = pool };
	return true;
}

static uint64_t *slot(uint64_t *entries, uint64_t from, unsigned shift)
{
	unsigned count = shift == TOP_SHIFT ? TABLE_ROOTS * TABLE_ENTRIES : TABLE_ENTRIES;

	return &entries[from >> shift & (count - 1)];
}

static uint64_t *below(uint64_t entry)
{
	return (uint64_t *)(uintptr_t)(entry & ENTRY_ADDRESS);
}

/* log2 of the largest leaf by which a mapping can continue. */
static unsigned piece_shift(uint64_t from, uint64_t to, uint64_t bytes, uint64_t largest)
{
	for (unsigned shift = TOP_SHIFT; shift > LAST_SHIFT; shift -= 9) {
		uint64_t piece = 1ull << shift;

		if (piece <= largest && !((from | to) & (piece - 1)) && bytes >= piece)
			return shift;
	}
	return LAST_SHIFT;
}

static bool map_piece(struct table *table, uint64_t from, unsigned leaf_shift, uint64_t leaf)
{
	uint64_t *entries = table->root, *entry;

	for (unsigned shift = TOP_SHIFT; shift > leaf_shift; shift -= 9) {
		entry = slot(entries, from, shift);
		if (!(*entry & ENTRY_VALID)) {
			uint64_t *more = new_table(table->pool);

			if (!more)
				return false;
			/* A walker must not see what was in the page before. */
			__atomic_store_n(entry,
					 (uint64_t)(uintptr_t)more | ENTRY_TABLE | ENTRY_VALID,
					 __ATOMIC_RELEASE);
		} else if (!(*entry & ENTRY_TABLE)) {
			return false; /* a block is mapped there */
		}
		entries = below(*entry);
	}
	entry = slot(entries, from, leaf_shift);
	if (*entry & ENTRY_VALID)
		return false;
	*entry = leaf | ENTRY_VALID | (leaf_shift == LAST_SHIFT ? ENTRY_TABLE : 0);
	return true;
}

bool table_map(struct table *table, uint64_t from, uint64_t to, uint64_t bytes, uint64_t attributes,
	       uint64_t largest)
{
	const uint64_t limit = 1ull << TABLE_INPUT_BITS;

	if ((from | to | bytes) & (PAGE_BYTES - 1) || from >= limit || bytes > limit - from ||
	    to > ENTRY_ADDRESS || bytes > ENTRY_ADDRESS - to)
		return false;
	while (bytes) {
		unsigned shift = piece_shift(from, to, bytes, largest);

		if (!map_piece(table, from, shift, to | attributes))
			return false;
		from += 1ull << shift;
		to += 1ull << shift;
		bytes -= 1ull << shift;
	}
	return true;
}

/* The entry of level 2 for `from`, or that of level 1 if it has no table; NULL if there is none. */
static uint64_t *block_entry(const struct table *table, uint64_t from)
{
	uint64_t *entry;

	if (from >> TABLE_INPUT_BITS)
		return NULL;
	entry = slot(table->root, from, TOP_SHIFT);
	return *entry & ENTRY_TABLE ? slot(below(*entry), from, TOP_SHIFT - 9) : entry;
}

bool table_unmap_block(struct table *table, uint64_t from, uint64_t *page)
{
	uint64_t *entry = block_entry(table, from);

	*page = 0;
	if (!entry || !(*entry & ENTRY_VALID))
		return false;
	*page = *entry & ENTRY_TABLE ? *entry & ENTRY_ADDRESS : 0;
	__atomic_store_n(entry, 0, __ATOMIC_RELEASE);
	return true;
}

void table_give_back(struct table *table, uint64_t page)
{
	uint64_t *words = (uint64_t *)(uintptr_t)page;

	if (!page)
		return;
	__builtin_memset(words, 0, PAGE_BYTES);
	words[0] = table->pool->returned;
	table->pool->returned = page;
}

uint64_t *table_pages(const struct table *table, uint64_t from)
{
	uint64_t *entry = block_entry(table, from);

	return entry && *entry & ENTRY_TABLE ? below(*entry) : NULL;
}

void table_unmap_page(struct table *table, uint64_t from)
{
	uint64_t *entries = table_pages(table, from);

	if (entries)
		__atomic_store_n(slot(entries, from, LAST_SHIFT), 0, __ATOMIC_RELEASE);
}

bool table_walk(const struct table *table, uint64_t from, struct table_leaf *leaf)
{
	uint64_t *entries = table->root;

	if (from >> TABLE_INPUT_BITS)
		return false;
	for (unsigned shift = TOP_SHIFT;; shift -= 9) {
		uint64_t entry = *slot(entries, from, shift), inside = (1ull << shift) - 1;

		if (!(entry & ENTRY_VALID))
			return false;
		if (shift == LAST_SHIFT || !(entry & ENTRY_TABLE)) {
			*leaf = (struct table_leaf){
				.output = (entry & ENTRY_ADDRESS & ~inside) | (from & inside),
				.bytes = inside + 1,
				.attributes = entry & ~ENTRY_ADDRESS & ~(ENTRY_VALID | ENTRY_TABLE),
			};
			return true;
		}
		entries = below(entry);
	}
}

uint64_t table_pages_needed(uint64_t bytes, uint64_t leaf_bytes)
{
	/* The root may have to skip a page; the range may begin inside a GiB. */
	uint64_t pages = TABLE_ROOTS + 1 + bytes / LARGE_BYTES + 2;

	if (leaf_bytes < BLOCK_BYTES)
		pages += bytes / BLOCK_BYTES + 2;
	return pages;
}
