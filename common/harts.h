/* What a guest needs to know of a RISC-V machine, besides common/tree.h: its harts, which are its CPUs, and
 * their interrupt controllers. */
#ifndef COMMON_HARTS_H
#define COMMON_HARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"

struct harts {
	uint64_t ids[MAX_CPUS];	  /* of harts that a kernel may start */
	uint32_t pages[MAX_CPUS]; /* of each: its number among all harts, in the tree's order */
	unsigned count, all;
	uint64_t clock_hz; /* of the counter `time`; 0: unknown */
	bool has_sstc;	   /* the register stimecmp */
	uint64_t plic;	   /* 0: none */
	uint64_t aplic;	   /* of supervisor mode, with interrupts as messages; 0: none */
	uint64_t
		imsic; /* of supervisor mode: taken to have a page for each hart, in the tree's order; 0: none */
	uint32_t imsic_stride;
};

/* Reads the tree at `bytes`, at most `most` bytes; tree_read() has found it valid. Pure and total: see
 * fdt.h. */
void harts_read(struct harts *harts, const void *bytes, uint32_t most);

#endif
