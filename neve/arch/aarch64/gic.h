/* The machine's GICv3, and how the VMs' virtual ones reach it. */
#ifndef GIC_H
#define GIC_H

#include "vm.h"

/* This CPU's part of the machine's GIC. NULL, or what is wrong. */
const char *gic_cpu_init(struct cpu *cpu);

/* Puts into the list registers what is pending now; on the vCPU's own CPU. */
void gic_refill(struct vcpu *vcpu);

/* Takes all physical interrupts that are pending on this CPU. */
void gic_take(struct vcpu *vcpu);

/* No list register holds anything; at the vCPU's reset. */
void gic_reset(struct vcpu *vcpu);

/* A write of ICC_SGI1R_EL1 or its kin. */
void gic_send_sgi(struct vcpu *vcpu, uint64_t value, bool group1);

/* Device rows of the distributor and the redistributors. */
bool gic_add_rows(struct vm *vm);

#endif
