/*
 * The machine's GICv3, and how the VMs' virtual ones reach it.
 *
 *   setup.c       the machine's GIC is switched on
 *   interrupts.c  physical interrupts are answered; virtual ones go into the CPU's list registers
 *   vgic.c        the state of a VM's interrupts; pure (vgic.h)
 *   vgic_mmio.c   its distributor and redistributors as registers; pure (vgic.h)
 *   ich.c         the CPU's ICH registers, saved and loaded (ich.h)
 *
 * Between a guest hypervisor and its VM: nested/gic_switch.c.
 */
#ifndef GIC_H
#define GIC_H

#include "core/vm.h"

#define SGI_KICK 0

/* ---- The machine's ---------------------------------------------------------------------------- */

/* The console's interrupt; 0: it does not interrupt. */
extern unsigned gic_console_intid;

/* This CPU's part of the machine's GIC. NULL, or what is wrong. */
const char *gic_cpu_init(struct cpu *cpu);

/* Acknowledges a physical interrupt; arch_take_interrupts() answers it. */
void gic_acknowledge(struct vcpu *vcpu);

/* Of one whose priority was dropped before. */
void gic_deactivate(uint64_t intid);

/* Makes PPIs of the CPU active, and others inactive: masks of INTIDs. */
void gic_set_active(const struct cpu *cpu, uint32_t active, uint32_t inactive);

/* ---- List registers of the vCPU's own CPU ------------------------------------------------------ */

/* Nothing is in them; at the vCPU's reset. */
void gic_reset(struct vcpu *vcpu);

/* Reads those that are in use. The world switch of kvm410/ has read them already. */
void gic_read_lists(struct vcpu *vcpu);

/* Puts into them what is pending now. */
void gic_refill(struct vcpu *vcpu);

/* ---- The VM's --------------------------------------------------------------------------------- */

/* A write of ICC_SGI1R_EL1 or its kin. */
void gic_send_sgi(struct vcpu *vcpu, uint64_t value, bool group1);

/* Device rows of the distributor and the redistributors. */
bool gic_add_rows(struct vm *vm);

#endif
