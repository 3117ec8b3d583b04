/*
 * The virtual GICv3 of a VM (Arm IHI 0069): the state of its interrupts, its distributor and
 * redistributors as the guest sees them, and the contents of list registers. Pure: hardware registers
 * are accessed elsewhere.
 *
 * One security state (GICD_CTLR.DS = 1), affinity routing always on, 32 private interrupts for each vCPU
 * and 32 shared ones, no LPIs. A vCPU's affinity is its number.
 *
 * A guest's accesses, SGIs and device lines change the state below. vgic_load() puts what is pending or
 * active for a vCPU into list registers, from where the CPU delivers it and the guest ends it without a
 * trap; vgic_save() takes it back. Both run on the vCPU's own CPU. Functions that change state for other
 * vCPUs return a mask: those must save and load again.
 *
 * A vCPU can have as many interrupts active at once as the CPU has list registers (4 or more). A pending
 * one that does not fit waits; an active one that the guest ends while it is in no list register stays
 * active.
 */
#ifndef VGIC_H
#define VGIC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/access.h"

#define VGIC_MAX_CPUS 8
#define VGIC_MAX_LRS  16
#define VGIC_OWN      32 /* lower INTIDs are private to a vCPU: 16 SGIs, 16 PPIs */
#define VGIC_INTIDS   64
#define VGIC_NOBODY   0xff

struct vgic_irq {
	bool enabled, group1, edge;
	bool latch; /* an edge came, an SGI was sent, or a guest set it pending */
	bool line;  /* of a level-triggered device */
	bool active;
	uint8_t physical; /* INTID of the physical interrupt that is active until this one ends; 0: none */
	bool latched; /* while in a list register: it was pending because of its latch */
	uint8_t priority;
	uint8_t target; /* shared ones: the vCPU that IROUTER names */
	uint8_t holder; /* the vCPU that has it in a list register or active, or VGIC_NOBODY */
};

struct vgic_cpu {
	struct vgic_irq own[VGIC_OWN];
	bool asleep;		    /* GICR_WAKER.ProcessorSleep */
	uint8_t held[VGIC_MAX_LRS]; /* INTID in each list register; VGIC_NOBODY: none */
};

struct vgic {
	unsigned cpu_count;
	bool group0_on, group1_on;
	struct vgic_cpu cpus[VGIC_MAX_CPUS];
	struct vgic_irq shared[VGIC_INTIDS - VGIC_OWN];
};

void vgic_init(struct vgic *vgic, unsigned cpu_count);

/* The list registers (ICH_LR<n>_EL2) of a vCPU, `count` of them. */
struct vgic_lists {
	uint64_t lr[VGIC_MAX_LRS];
	unsigned count;
};

void vgic_save(struct vgic *vgic, unsigned cpu, const struct vgic_lists *lists);

struct vgic_loaded {
	unsigned used;	     /* list registers from 0 on; the others are 0 */
	bool more;	     /* some did not fit: load again when a list register is free */
	uint32_t deactivate; /* physical interrupts to deactivate now: no guest will end them */
};
struct vgic_loaded vgic_load(struct vgic *vgic, unsigned cpu, struct vgic_lists *lists);

/* All of these return the mask of vCPUs for which something may have changed. */

/* vCPU `cpu` wrote `value` to ICC_SGI1R_EL1 (group 1), or to one of the other two (group 0). */
uint32_t vgic_send_sgi(struct vgic *vgic, unsigned cpu, uint64_t value, bool group1);

/* Sets the line of a device, a shared INTID. */
uint32_t vgic_set_line(struct vgic *vgic, unsigned intid, bool high);

/* A physical interrupt for vCPU `cpu`, which stays active until the guest ends the virtual one. Takes the
 * list registers back first: the previous one may have ended in them. */
uint32_t vgic_physical(struct vgic *vgic, unsigned cpu, const struct vgic_lists *lists,
		       unsigned intid, unsigned physical);

/* ---- While a nested VM has the hardware's interface (nested/gic_switch.h) -------------------- */

/* Sets the line of a private level-triggered interrupt. */
void vgic_set_own_line(struct vgic *vgic, unsigned cpu, unsigned intid, bool high);

/* Would the vCPU be interrupted, with this ICH_VMCR_EL2 of its own interface? */
bool vgic_interrupts(struct vgic *vgic, unsigned cpu, uint64_t vmcr);

/* Is a physical interrupt active until the private interrupt `intid` ends? */
bool vgic_is_backed(struct vgic *vgic, unsigned cpu, unsigned intid);

/* Marks an active interrupt of the vCPU as ended. */
void vgic_ended(struct vgic *vgic, unsigned cpu, unsigned intid);

/* ---- Registers in memory (vgic_mmio.c) ------------------------------------------------------ */

#define VGIC_DISTRIBUTOR_BYTES	 0x10000
#define VGIC_REDISTRIBUTOR_BYTES 0x20000 /* two frames for each vCPU */

/* vCPU `cpu` accesses the distributor, or the redistributors, vCPU 0's first. Unimplemented registers
 * read as zero and ignore writes. */
uint32_t vgic_distributor(struct vgic *vgic, unsigned cpu, struct access *access);
uint32_t vgic_redistributors(struct vgic *vgic, unsigned cpu, struct access *access);

/* Does the register at this offset (of either) hold pending or active state? */
bool vgic_says_state(uint64_t offset);

/* ---- Shared by the two files ---------------------------------------------------------------- */

/* The interrupt `intid` of vCPU `cpu`, or NULL. */
struct vgic_irq *vgic_irq(struct vgic *vgic, unsigned cpu, unsigned intid);
bool vgic_is_pending(const struct vgic_irq *irq);
/* The vCPU that has a shared interrupt, or else the one that it is routed to. */
unsigned vgic_concerns(const struct vgic_irq *irq);

#endif
