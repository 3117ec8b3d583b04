/* What a GICv2 (Arm IHI 0048) or GICv3 (IHI 0069) has in memory: the distributor and the redistributors. */
#ifndef COMMON_GIC_REGISTERS_H
#define COMMON_GIC_REGISTERS_H

#include "common/tree.h"

/* Of the distributor, in both versions; in version 3 GICR_SGI_FRAME behind a redistributor's start are the
 * same for the 32 interrupts that each CPU has of its own. */
#define GICD_CTLR	0x000
#define GICD_IIDR	0x008
#define GICD_IGROUPR	0x080
#define GICD_ISENABLER	0x100
#define GICD_ICENABLER	0x180
#define GICD_ISACTIVER	0x300
#define GICD_ICACTIVER	0x380
#define GICD_IPRIORITYR 0x400
#define GICD_ITARGETSR	0x800
#define GICD_ICFGR	0xc00
#define GICD_SGIR	0xf00
#define GICD_IROUTER	0x6000

#define GICR_SGI_FRAME 0x10000

#define GIC_FIRST_SHARED 32

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
