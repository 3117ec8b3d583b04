/* The distributor and the redistributors of a GICv2 or GICv3, as who uses them sets them up. */
#ifndef COMMON_GIC_DRIVER_H
#define COMMON_GIC_DRIVER_H

#include "common/gic_registers.h"
#include "common/tree.h"

/* Switches it on, for groups that any of the versions calls ours. False: it does not answer. */
bool gic_enable_distributor(uint64_t distributor, unsigned version);

/* The redistributor of the CPU with that affinity (MPIDR_EL1's fields); 0: there is none. */
uint64_t gic_redistributor(const struct tree *tree, uint64_t affinity);
/* Wakes it. False: it does not. */
bool gic_wake(uint64_t redistributor);

/* Of a CPU's own interrupts, whose registers are at `frame`: exactly these are on, and all get a priority. */
void gic_enable_own(uint64_t frame, uint32_t which);
/* Lets one more come, or no more. */
void gic_own(uint64_t frame, unsigned intid, bool on);
/* Lets a shared one come, on an edge or by its level, to the CPU with that affinity; version 2: the bit by
 * which it is called. */
void gic_enable_shared(uint64_t distributor, unsigned version, unsigned intid, uint64_t to,
		       bool edge);

#endif
