/*
 * The timers of a guest hypervisor and of its VM (nested.h). Each has a virtual and a physical one. A VHE
 * hypervisor's own, CNTHV and CNTHP, have at EL2 the names of EL1's, and reach the hardware's CNTV and CNTP past
 * us; its VM's have these while the VM runs. So who runs has CNTV and CNTP, the other has CNTHV and CNTHP of a
 * CPU that has all four (FEAT_VHE). On any other, and without VHE, CNTV and CNTP are the VM's for ever.
 */
#ifndef NESTED_TIMERS_H
#define NESTED_TIMERS_H

#include "core/vm.h"

/* The VM is left for its hypervisor, the hypervisor for its VM: after its list registers are taken back, after
 * they are lent. */
void timers_to_l1(struct vcpu *vcpu);
void timers_to_l2(struct vcpu *vcpu);

/* The virtual interrupt that a timer's physical one stands for; 0: for none, because the hypervisor has changed its
 * VM's timer since, where we do not see it. */
unsigned timers_interrupt(struct vcpu *vcpu, unsigned physical);

#endif
