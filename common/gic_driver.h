/* Initialises the distributor and redistributors of a GICv2 or GICv3, and enables interrupts. */
#ifndef COMMON_GIC_DRIVER_H
#define COMMON_GIC_DRIVER_H

#include "common/gic_registers.h"
#include "common/tree.h"

/* Enables it for all groups (which one is ours depends on version and security state). False: timed out. */
bool gic_enable_distributor(uint64_t distributor, unsigned version);

/* The redistributor of the CPU with that affinity (MPIDR_EL1's fields); 0: not found. */
uint64_t gic_redistributor(const struct tree *tree, uint64_t affinity);
/* Wakes it. False: timed out. */
bool gic_wake(uint64_t redistributor);

/* Of a CPU's private interrupts, whose registers are at `frame`, enables exactly `which`; all get a
 * priority. */
void gic_enable_own(uint64_t frame, uint32_t which);
/* Enables or disables one more. */
void gic_own(uint64_t frame, unsigned intid, bool on);
/* Enables a shared interrupt, edge- or level-triggered, for the CPU with affinity `to` (version 2: that
 * CPU's bit in ITARGETSR). */
void gic_enable_shared(uint64_t distributor, unsigned version, unsigned intid, uint64_t to,
		       bool edge);

#endif
