/* Walks a guest hypervisor's tables in its memory, as its CPU would (DDI 0487, D8.2 and D8.3): granules
 * of 4, 16 and 64 KiB, any start level, at stage 2 concatenated first tables. Pure. */
#ifndef GUEST_TABLE_H
#define GUEST_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/bits.h"

/* Reads the table entry at guest-physical address `ipa`. Returns false if no memory is there. */
typedef bool guest_entry(void *context, uint64_t ipa, uint64_t *entry);

enum guest_access { GUEST_READS, GUEST_WRITES, GUEST_FETCHES };

struct guest_leaf {
	bool faults;	 /* it is not mapped, or not for this access */
	unsigned status; /* the fault's status code, which may be 0 (address size, level 0) */
	uint64_t output; /* of that byte */
	uint64_t bytes;	 /* of the page or block */
	uint64_t attributes;
};

/* Translates `ipa` by these VTTBR_EL2 and VTCR_EL2, and checks the access. Reads four entries at most. */
struct guest_leaf guest_walk(uint64_t vttbr, uint64_t vtcr, uint64_t ipa, enum guest_access access,
			     guest_entry *entry, void *context);

/* The same for stage 1: `ttbr` has the tables of the lower and the upper half (TTBR0 and TTBR1), and
 * `tcr` has the format of TCR_EL1. */
struct guest_leaf guest_walk_stage1(const uint64_t ttbr[2], uint64_t tcr, uint64_t address,
				    enum guest_access access, guest_entry *entry, void *context);

#endif
