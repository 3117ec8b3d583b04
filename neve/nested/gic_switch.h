/*
 * Switches the CPU's virtual GIC interface between a guest hypervisor (L1) and its VM (L2). While L2 runs,
 * the interface has what L1's ICH registers say; L1's own state waits in memory. (How L1's ICH registers
 * are emulated: virtual_ich.h.)
 */
#ifndef GIC_SWITCH_H
#define GIC_SWITCH_H

#include "cpu/registers.h"
#include "vm/vm.h"

/* Gives the interface to L2. What is in L1's own list registers goes back to struct vgic meanwhile. */
void nested_gic_lend(struct vcpu *vcpu);

/* Gives the interface back to L1. */
void nested_gic_take_back(struct vcpu *vcpu);

/* Before a physical interrupt is passed on: takes back the list register if L2 has ended the previous
 * one. The caller holds the VM's lock. */
void nested_gic_take_ended(struct vcpu *vcpu, unsigned intid);

/* L2's maintenance interrupt: raises L1's line. */
void nested_gic_take_maintenance(struct vcpu *vcpu);

/* Sets that line by L1's ICH registers. The caller holds the VM's lock. */
void nested_gic_set_maintenance_line(struct vcpu *vcpu);

/* ICH_MISR_EL2, ICH_EISR_EL2 or ICH_ELRSR_EL2 as L1 reads it. */
uint64_t nested_ich_status(const struct vcpu *vcpu, enum register_number number);

/* Updates their copies, if L1 reads them from memory, after L1 has written `changed`. */
void nested_ich_copy_status(struct vcpu *vcpu, enum register_number changed);

#endif
