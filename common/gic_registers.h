/* Memory-mapped registers of a GICv2 (Arm IHI 0048) or GICv3 (IHI 0069): distributor and redistributors. */
#ifndef COMMON_GIC_REGISTERS_H
#define COMMON_GIC_REGISTERS_H

/* Distributor, both versions. In version 3 the same registers for a CPU's 32 private interrupts start
 * GICR_SGI_FRAME bytes into its redistributor. */
#define GICD_CTLR	0x000
#define GICD_TYPER	0x004
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
#define GICD_PIDR2	0xffe8 /* GICR_PIDR2 too */

#define GICR_CTLR      0x0000
#define GICR_IIDR      0x0004
#define GICR_TYPER     0x0008
#define GICR_WAKER     0x0014
#define GICR_PROPBASER 0x0070
#define GICR_PENDBASER 0x0078
#define GICR_SGI_FRAME 0x10000
#define GICR_BYTES     0x20000 /* twice that with virtual LPIs */

/* GICD_CTLR: the meaning of the group bits depends on the security state. */
#define GICD_CTLR_GROUP0    (1u << 0)
#define GICD_CTLR_GROUP1    (1u << 1)
#define GICD_CTLR_AFFINITY  (1u << 4)
#define GICD_CTLR_ONE_STATE (1u << 6)  /* DS */
#define GICD_CTLR_PENDING   (1u << 31) /* RWP */

#define GICR_TYPER_VLPIS  (1u << 1)
#define GICR_TYPER_LAST	  (1u << 4)
#define GICR_WAKER_SLEEP  (1u << 1)
#define GICR_WAKER_ASLEEP (1u << 2)

#define GIC_FIRST_SHARED 32

#endif
