/*
 * Shadow stage-2 tables (Lim et al., section 4): what a nested VM calls physical, translated by its
 * hypervisor's stage 2 and then by ours, in one table that the hardware walks. Built when the nested VM
 * touches a page; what the guest hypervisor invalidates is dropped. Under the VM's lock. Pure, but for
 * shadow_flush().
 */
#ifndef SHADOW_H
#define SHADOW_H

#include "machine/table.h"
#include "nested/guest_table.h"

#define SHADOWS	     9 /* contexts (VTTBR_EL2, VTCR_EL2) that are kept of one VM: more than vCPUs */
#define SHADOW_PAGES 128 /* for the tables of each; when they are used up, it begins anew */

struct shadow {
	uint64_t vttbr, vtcr; /* the guest hypervisor's; vttbr 0: it is free */
	uint64_t hardware;    /* VTTBR_EL2 while it is in use */
	struct table table;
	struct table_pool pool;
	uint64_t first_page;
	uint64_t largest; /* leaf of the guest hypervisor's that is in it */
};

struct shadows {
	struct shadow all[SHADOWS];
	unsigned next; /* was taken last for another context */
};

/* Prepares them: zeroed pages, SHADOWS * SHADOW_PAGES of them, and the first VMID of as many. */
void shadows_init(struct shadows *shadows, uint64_t pages, uint64_t first_vmid);

/* That of the context; if there is none, one that no CPU uses (`in_use`: bits, by place) is emptied and taken. */
struct shadow *shadow_find(struct shadows *shadows, uint64_t vttbr, uint64_t vtcr, uint32_t in_use);

/* Maps the page around `ipa` that the guest hypervisor's `leaf` and our own `own` agree on. */
void shadow_map(struct shadow *shadow, uint64_t ipa, const struct guest_leaf *leaf,
		const struct table_leaf *own);

/* Drops what `ipa` is mapped to, with all that the same leaf of the guest hypervisor may have given. */
void shadow_drop(struct shadow *shadow, uint64_t ipa);

void shadow_clear(struct shadow *shadow);

/* What the TLBs of all CPUs hold of stage 1 and 2 of that VTTBR_EL2; it is in memory.c. */
void shadow_flush(uint64_t vttbr);

#endif
