/*
 * Shadow stage-2 tables (Lim et al., section 4): a nested VM's guest-physical addresses, translated by its
 * hypervisor's stage 2 and then by ours, in one table that the hardware walks. A page is mapped when the
 * nested VM touches it, and dropped when the guest hypervisor invalidates it. The caller holds the VM's
 * lock. Pure, except shadow_flush().
 */
#ifndef SHADOW_H
#define SHADOW_H

#include "tables/guest_table.h"
#include "tables/table.h"

#define SHADOWS	     9	 /* contexts (VTTBR_EL2, VTCR_EL2) kept for one VM; more than vCPUs */
#define SHADOW_PAGES 128 /* at least, for the tables of each */

struct shadow {
	uint64_t vttbr, vtcr; /* the guest hypervisor's; vttbr 0: it is free */
	uint64_t hardware;    /* VTTBR_EL2 while it is in use */
	struct table table;
	struct table_pool pool;
	uint64_t first_page; /* behind the root */
	uint64_t largest;    /* largest of the guest hypervisor's leaves in it, in bytes */
};

/* The pages for each shadow of a guest hypervisor with that memory: when they are used up, it is cleared,
 * which must not happen to a VM that has all of it. */
uint64_t shadow_pages_needed(uint64_t memory_bytes);

struct shadows {
	struct shadow all[SHADOWS];
	unsigned next; /* the last one taken for a new context */
};

/* Sets up all shadows. `pages`: SHADOWS * `each` zeroed pages; `first_vmid`: the first of SHADOWS VMIDs. */
void shadows_init(struct shadows *shadows, uint64_t pages, uint64_t each, uint64_t first_vmid);

/* The shadow of a context. If there is none, takes and clears one that no CPU uses (`in_use`: a bit for
 * each). */
struct shadow *shadow_find(struct shadows *shadows, uint64_t vttbr, uint64_t vtcr, uint32_t in_use);

/* Maps the page around `ipa`, as far as the guest hypervisor's `leaf` and our `own` both cover it. */
void shadow_map(struct shadow *shadow, uint64_t ipa, const struct guest_leaf *leaf,
		const struct table_leaf *own);

/* Drops the mapping of `ipa`, and everything else that may come from the same leaf of the guest
 * hypervisor. */
void shadow_drop(struct shadow *shadow, uint64_t ipa);

void shadow_clear(struct shadow *shadow);

/* Invalidates stage 1 and 2 of that VTTBR_EL2 in the TLBs of all CPUs; defined in memory.c. */
void shadow_flush(uint64_t vttbr);

#endif
