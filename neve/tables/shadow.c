/* Shadow stage-2 tables; see shadow.h. */
#include "tables/shadow.h"

#include <stddef.h>

/* In bits that the architecture leaves to software: how large the guest hypervisor's leaf is. */
enum origin { ORIGIN_PAGE, ORIGIN_BLOCK, ORIGIN_LARGE }; /* 4 KiB; at most 2 MiB; more */
#define ORIGIN_SHIFT	 55
#define ORIGIN_OF(entry) ((enum origin)((entry) >> ORIGIN_SHIFT & 3))

uint64_t shadow_pages_needed(uint64_t memory_bytes)
{
	uint64_t pages = table_pages_needed(memory_bytes, PAGE_BYTES);

	return pages < SHADOW_PAGES ? SHADOW_PAGES : pages;
}

void shadows_init(struct shadows *shadows, uint64_t pages, uint64_t each, uint64_t first_vmid)
{
	*shadows = (struct shadows){ .next = 0 };
	for (unsigned i = 0; i < SHADOWS; i++) {
		struct shadow *shadow = &shadows->all[i];

		shadow->pool.next = pages + i * each * PAGE_BYTES;
		shadow->pool.end = shadow->pool.next + each * PAGE_BYTES;
		table_init(&shadow->table, &shadow->pool);
		shadow->first_page = shadow->pool.next;
		shadow->hardware = (uint64_t)(uintptr_t)shadow->table.root |
				   (first_vmid + i) << VTTBR_VMID_SHIFT;
	}
}

void shadow_clear(struct shadow *shadow)
{
	for (unsigned i = 0; i < TABLE_ROOTS * TABLE_ENTRIES; i++)
		__atomic_store_n(&shadow->table.root[i], 0, __ATOMIC_RELAXED);
	shadow_flush(shadow->hardware);
	/* The lower tables are not walked any more. */
	for (uint64_t page = shadow->first_page; page < shadow->pool.next; page += PAGE_BYTES)
		__builtin_memset((void *)(uintptr_t)page, 0, PAGE_BYTES);
	shadow->pool.next = shadow->first_page;
	shadow->pool.returned = 0;
	shadow->largest = 0;
}

struct shadow *shadow_find(struct shadows *shadows, uint64_t vttbr, uint64_t vtcr, uint32_t in_use)
{
	struct shadow *shadow;

	for (unsigned i = 0; i < SHADOWS; i++) {
		shadow = &shadows->all[i];
		if (shadow->vttbr == vttbr && shadow->vtcr == vtcr)
			return shadow;
	}
	do /* ends: there are more shadows than vCPUs */
		shadows->next = (shadows->next + 1) % SHADOWS;
	while (in_use >> shadows->next & 1);
	shadow = &shadows->all[shadows->next];
	shadow_clear(shadow);
	shadow->vttbr = vttbr;
	shadow->vtcr = vtcr;
	return shadow;
}

/* Drops the 2 MiB around `ipa`. */
static void drop_block(struct shadow *shadow, uint64_t ipa)
{
	uint64_t below;

	if (!table_unmap_block(&shadow->table, ipa, &below))
		return;
	shadow_flush(shadow->hardware);
	table_give_back(&shadow->table, below);
}

void shadow_map(struct shadow *shadow, uint64_t ipa, const struct guest_leaf *leaf,
		const struct table_leaf *own)
{
	uint64_t bytes = leaf->bytes < own->bytes ? leaf->bytes : own->bytes;
	enum origin origin = leaf->bytes <= PAGE_BYTES	  ? ORIGIN_PAGE
			     : leaf->bytes <= BLOCK_BYTES ? ORIGIN_BLOCK
							  : ORIGIN_LARGE;
	struct table_leaf there;

	bytes = bytes < BLOCK_BYTES ? PAGE_BYTES : BLOCK_BYTES;
	if (table_walk(&shadow->table, ipa, &there))
		shadow_drop(shadow, ipa); /* it was mapped with fewer permissions */
	for (unsigned tries = 0; tries < 3; tries++) {
		if (table_map(&shadow->table, ipa & ~(bytes - 1), own->output & ~(bytes - 1), bytes,
			      leaf->attributes | (uint64_t)origin << ORIGIN_SHIFT, bytes))
			break;
		if (!tries)
			drop_block(shadow, ipa); /* a leaf of another size is mapped there */
		else
			shadow_clear(shadow); /* the pool is used up */
	}
	shadow->largest = leaf->bytes > shadow->largest ? leaf->bytes : shadow->largest;
}

/* Does one of the pages around `ipa` come from a larger leaf, which may be that of `ipa`? */
static bool has_part_of_block(const struct shadow *shadow, uint64_t ipa)
{
	const uint64_t *entries = table_pages(&shadow->table, ipa);

	for (unsigned i = 0; entries && i < TABLE_ENTRIES; i++)
		if (entries[i] & ENTRY_VALID && ORIGIN_OF(entries[i]) != ORIGIN_PAGE)
			return true;
	return false;
}

void shadow_drop(struct shadow *shadow, uint64_t ipa)
{
	struct table_leaf there;
	bool mapped = table_walk(&shadow->table, ipa, &there);

	if (shadow->largest > BLOCK_BYTES) {
		shadow_clear(shadow);
	} else if (mapped && ORIGIN_OF(there.attributes) == ORIGIN_PAGE) {
		table_unmap_page(&shadow->table, ipa);
		shadow_flush(shadow->hardware);
	} else if (mapped || (shadow->largest > PAGE_BYTES && has_part_of_block(shadow, ipa))) {
		drop_block(shadow, ipa);
	}
}
