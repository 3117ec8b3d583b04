/* Reads the tables of a guest hypervisor, in its memory, as its CPU would (DDI 0487, D8.2 and D8.3): granules of
 * 4, 16 and 64 KiB, any start level, at stage 2 concatenated first tables. Pure. */
#ifndef GUEST_TABLE_H
#define GUEST_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/bits.h"

/* The entry of a table at guest-physical address `ipa`; false: there is no memory. */
typedef bool guest_entry(void *context, uint64_t ipa, uint64_t *entry);

enum guest_access { GUEST_READS, GUEST_WRITES, GUEST_FETCHES };

struct guest_leaf {
	unsigned status; /* 0: it is mapped, else the fault's status code */
	uint64_t output; /* the very byte's */
	uint64_t bytes;	 /* of the page or block */
	uint64_t attributes;
};

/* What [VTTBR_EL2, VTCR_EL2] translate `ipa` to, and whether the access is allowed. Ends after four
 * entries, whatever they are. */
struct guest_leaf guest_walk(uint64_t vttbr, uint64_t vtcr, uint64_t ipa, enum guest_access access,
			     guest_entry *entry, void *context);

/* What stage 1 of virtual EL2 translates an address of its own to: the tables of the lower and the upper half
 * (TTBR0 and TTBR1), and how they are to be read in TCR_EL1's format. */
struct guest_leaf guest_walk_stage1(const uint64_t ttbr[2], uint64_t tcr, uint64_t address,
				    enum guest_access access, guest_entry *entry, void *context);

#endif
