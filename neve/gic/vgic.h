/*
 * The virtual GICv3 of a VM (Arm IHI 0069): the state of its interrupts, its distributor and
 * redistributors as a guest sees them, and what goes into the list registers of the CPU that a vCPU
 * runs on. Pure: no register of the hardware is touched here; list registers are written elsewhere.
 *
 * One security state (GICD_CTLR.DS = 1), affinity routing always on, 32 interrupts of each vCPU's own
 * and 32 shared ones, no LPIs. A vCPU's affinity is its number.
 *
 * Who writes what: a guest's accesses, sent SGIs and device lines change the state below. vgic_load()
 * moves what is pending or active for a vCPU into list registers, from where the CPU delivers it and
 * the guest ends it without a trap; vgic_save() takes them back. Both run on the vCPU's own CPU. What
 * changes for another vCPU is said in a mask: that one must save and load anew.
 *
 * A vCPU has as many interrupts active at once as the CPU has list registers (4 or more): one that
 * finds none free waits, and an active one that a guest ends while it is in none stays active.
 */
#ifndef VGIC_H
#define VGIC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/access.h"

#define VGIC_MAX_CPUS 8
#define VGIC_MAX_LRS  16
#define VGIC_OWN      32 /* INTIDs below are each vCPU's own: 16 SGIs, 16 PPIs */
#define VGIC_INTIDS   64
#define VGIC_NOBODY   0xff

struct vgic_irq {
	bool enabled, group1, edge;
	bool latch; /* an edge came, an SGI was sent, or a guest set it pending */
	bool line;  /* of a level-triggered device */
	bool active;
	uint8_t physical; /* INTID of the physical interrupt that is active until this one ends; 0: none */
	bool latched; /* while in a list register: it was pending by its latch */
	uint8_t priority;
	uint8_t target; /* shared ones: the vCPU that IROUTER names */
	uint8_t holder; /* the vCPU that has it in a list register or active, or VGIC_NOBODY */
};

struct vgic_cpu {
	struct vgic_irq own[VGIC_OWN];
	bool asleep;		    /* GICR_WAKER.ProcessorSleep */
	uint8_t held[VGIC_MAX_LRS]; /* what vgic_load() put where; VGIC_NOBODY: nothing */
};

struct vgic {
	unsigned cpu_count;
	bool group0_on, group1_on;
	struct vgic_cpu cpus[VGIC_MAX_CPUS];
	struct vgic_irq shared[VGIC_INTIDS - VGIC_OWN];
};

void vgic_init(struct vgic *vgic, unsigned cpu_count);

/* List registers (ICH_LR<n>_EL2), `count` of them, of vCPU `cpu`. */
struct vgic_lists {
	uint64_t lr[VGIC_MAX_LRS];
	unsigned count;
};

void vgic_save(struct vgic *vgic, unsigned cpu, const struct vgic_lists *lists);

struct vgic_loaded {
	unsigned used;	     /* list registers from 0 on; the others are 0 */
	bool more;	     /* something pending found no place: come back when one is free */
	uint32_t deactivate; /* physical interrupts that nobody will end: do that now */
};
struct vgic_loaded vgic_load(struct vgic *vgic, unsigned cpu, struct vgic_lists *lists);

/* All of these return the mask of vCPUs for which something may have changed. */

/* vCPU `cpu` wrote `value` to ICC_SGI1R_EL1 (group 1), or to one of the other two (group 0). */
uint32_t vgic_send_sgi(struct vgic *vgic, unsigned cpu, uint64_t value, bool group1);

/* The line of a device: a shared INTID. */
uint32_t vgic_set_line(struct vgic *vgic, unsigned intid, bool high);

/* A physical interrupt for vCPU `cpu` alone, which stays active until the guest ends the virtual one. The
 * list registers are taken back first: in them may be the end of the one before. */
uint32_t vgic_physical(struct vgic *vgic, unsigned cpu, const struct vgic_lists *lists,
		       unsigned intid, unsigned physical);

/* ---- For a vCPU whose VM's virtual interface has the hardware (nested/nested.h) --------------------- */

/* The line of a level-triggered interrupt of the vCPU's own. */
void vgic_set_own_line(struct vgic *vgic, unsigned cpu, unsigned intid, bool high);

/* Would it be interrupted, with ICH_VMCR_EL2 as its own interface has it? */
bool vgic_interrupts(struct vgic *vgic, unsigned cpu, uint64_t vmcr);

/* Is a physical interrupt active until its own of that INTID ends? */
bool vgic_is_backed(struct vgic *vgic, unsigned cpu, unsigned intid);

/* One that it has active was ended for it. */
void vgic_ended(struct vgic *vgic, unsigned cpu, unsigned intid);

/* ---- Registers in memory (vgic_mmio.c) ------------------------------------------------------ */

#define VGIC_DISTRIBUTOR_BYTES	 0x10000
#define VGIC_REDISTRIBUTOR_BYTES 0x20000 /* a vCPU's two frames */

/* vCPU `cpu` accesses the distributor, or the redistributors, vCPU 0's first. What is not there reads as
 * zero and ignores writes. */
uint32_t vgic_distributor(struct vgic *vgic, unsigned cpu, struct access *access);
uint32_t vgic_redistributors(struct vgic *vgic, unsigned cpu, struct access *access);

/* Does a register at this offset, of either, say which interrupts are pending or active? */
bool vgic_says_state(uint64_t offset);

/* ---- Shared by the two files ---------------------------------------------------------------- */

/* The interrupt as vCPU `cpu` knows it; NULL: there is none of that number. */
struct vgic_irq *vgic_irq(struct vgic *vgic, unsigned cpu, unsigned intid);
bool vgic_is_pending(const struct vgic_irq *irq);
/* The vCPU that a shared interrupt concerns now. */
unsigned vgic_concerns(const struct vgic_irq *irq);

#endif
