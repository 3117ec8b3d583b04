/*
 * The CPU's virtual GIC interface between a guest hypervisor (L1) and its VM (L2): while L2 runs it is L2's, as L1's
 * ICH registers say; L1's own state waits in memory. (How L1 has the ICH registers themselves: virtual_ich.h.)
 */
#ifndef GIC_SWITCH_H
#define GIC_SWITCH_H

#include "core/vm.h"
#include "machine/registers.h"

/* L2 gets the interface. What was in L1's own list registers counts as pending or active again when L1 has it
 * back. */
void nested_gic_lend(struct vcpu *vcpu);

/* L1 gets it back. */
void nested_gic_take_back(struct vcpu *vcpu);

/* Before a physical interrupt is handed on: has L2 ended the one before? Under the VM's lock. */
void nested_gic_take_ended(struct vcpu *vcpu, unsigned intid);

/* L2's maintenance interrupt: L1's line is high as long as the hardware's is. */
void nested_gic_take_maintenance(struct vcpu *vcpu);

/* ... as L1's registers say it. Under the VM's lock. */
void nested_gic_set_maintenance_line(struct vcpu *vcpu);

/* ICH_MISR_EL2, ICH_EISR_EL2 or ICH_ELRSR_EL2 as L1 reads it. */
uint64_t nested_ich_status(const struct vcpu *vcpu, enum register_number number);

/* ... and where it reads them from memory: after it has written `changed`. */
void nested_ich_copy_status(struct vcpu *vcpu, enum register_number changed);

#endif
