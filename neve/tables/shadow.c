/* Shadow stage-2 tables; see shadow.h. */
#include "tables/shadow.h"

#include <stddef.h>

void shadows_init(struct shadows *shadows, uint64_t pages, uint64_t first_vmid)
{
	*shadows = (struct shadows){ .next = 0 };
	for (unsigned i = 0; i < SHADOWS; i++) {
		struct shadow *shadow = &shadows->all[i];

		shadow->first_page = pages + i * SHADOW_PAGES * PAGE_BYTES;
		shadow->pool.next = shadow->first_page;
		shadow->pool.end = shadow->first_page + SHADOW_PAGES * PAGE_BYTES;
		table_init(&shadow->table, &shadow->pool);
		shadow->hardware = (uint64_t)(uintptr_t)shadow->table.root |
				   (first_vmid + i) << VTTBR_VMID_SHIFT;
	}
}

void shadow_clear(struct shadow *shadow)
{
	for (unsigned i = 0; i < TABLE_ENTRIES; i++)
		__atomic_store_n(&shadow->table.root[i], 0, __ATOMIC_RELAXED);
	shadow_flush(shadow->hardware);
	/* The lower tables are not walked any more. */
	for (uint64_t page = shadow->first_page + PAGE_BYTES; page < shadow->pool.next;
	     page += PAGE_BYTES)
		__builtin_memset((void *)(uintptr_t)page, 0, PAGE_BYTES);
	shadow->pool.next = shadow->first_page + PAGE_BYTES;
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

void shadow_map(struct shadow *shadow, uint64_t ipa, const struct guest_leaf *leaf,
		const struct table_leaf *own)
{
	uint64_t bytes = leaf->bytes < own->bytes ? leaf->bytes : own->bytes;
	struct table_leaf there;

	bytes = bytes < BLOCK_BYTES ? PAGE_BYTES : BLOCK_BYTES;
	if (table_walk(&shadow->table, ipa, &there))
		shadow_drop(shadow, ipa); /* it was mapped with fewer permissions */
	for (unsigned tries = 0; tries < 2; tries++) {
		if (table_map(&shadow->table, ipa & ~(bytes - 1), own->output & ~(bytes - 1), bytes,
			      leaf->attributes, bytes))
			break;
		shadow_clear(shadow); /* pages are mapped there, or the pool is used up */
	}
	shadow->largest = leaf->bytes > shadow->largest ? leaf->bytes : shadow->largest;
}

void shadow_drop(struct shadow *shadow, uint64_t ipa)
{
	if (shadow->largest > BLOCK_BYTES) {
		shadow_clear(shadow);
		return;
	}
	if (table_unmap_block(&shadow->table, ipa))
		shadow_flush(shadow->hardware);
}
