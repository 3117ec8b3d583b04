/*
 * The machine's GICv3, and the VMs' virtual GICs.
 *
 *   setup.c       sets up the machine's GIC
 *   vgic.c        the state of a VM's interrupts; pure (vgic.h)
 *   vgic_mmio.c   a VM's distributor and redistributors; pure (vgic.h)
 *   ich.c         saves and loads the CPU's ICH registers (ich.h)
 *
 * exits/interrupts.c handles physical interrupts, and puts virtual ones into the CPU's list registers.
 * nested/gic_switch.c switches the interface between a guest hypervisor and its VM.
 */
#ifndef GIC_H
#define GIC_H

#include "core/cpus.h"

struct vm;

#define SGI_KICK 0

/* ---- The machine's ---------------------------------------------------------------------------- */

/* INTID of the console; 0: it has no interrupt. */
extern unsigned gic_console_intid;

/* Sets up this CPU's part of the machine's GIC. Returns NULL or an error message. */
const char *gic_cpu_init(struct cpu *cpu);

/* Acknowledges a physical interrupt; arch_take_interrupts() handles it. */
void gic_acknowledge(struct vcpu *vcpu);

/* Deactivates an interrupt whose priority was dropped before. */
void gic_deactivate(uint64_t intid);

/* Makes PPIs of the CPU active, and others inactive; masks of INTIDs. */
void gic_set_active(const struct cpu *cpu, uint32_t active, uint32_t inactive);

/* ---- List registers of the vCPU's own CPU ------------------------------------------------------ */

/* Empties them at the vCPU's reset. */
void gic_reset(struct vcpu *vcpu);

/* Reads back those in use. A no-op with kvm410, whose world switch has read them already. */
void gic_read_lists(struct vcpu *vcpu);

/* Fills them with what is pending now. */
void gic_refill(struct vcpu *vcpu);

/* ---- The VM's --------------------------------------------------------------------------------- */

/* A guest's write to ICC_SGI1R_EL1, ICC_ASGI1R_EL1 or ICC_SGI0R_EL1. */
void gic_send_sgi(struct vcpu *vcpu, uint64_t value, bool group1);

/* Adds the device rows of the distributor and the redistributors. Returns false if the table is full. */
bool gic_add_rows(struct vm *vm);

#endif
