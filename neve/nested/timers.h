/*
 * The timers of a guest hypervisor (L1) and of its VM (L2). Each has a virtual and a physical one. A VHE
 * hypervisor accesses its own, CNTHV and CNTHP, by the names of EL1's: it reaches the hardware's CNTV and
 * CNTP without a trap. While L2 runs, these are L2's. So the one that runs has CNTV and CNTP, and the other
 * one has CNTHV and CNTHP if the CPU has all four (FEAT_VHE). On other CPUs, and without VHE, CNTV and CNTP
 * are always L2's.
 */
#ifndef NESTED_TIMERS_H
#define NESTED_TIMERS_H

#include "vm/vm.h"

/* Switch the timers from L2 to L1, after L2's list registers are taken back; from L1 to L2, after they
 * are lent. */
void timers_to_l1(struct vcpu *vcpu);
void timers_to_l2(struct vcpu *vcpu);

/* The virtual INTID for a timer's physical one. 0: none, because L1 has changed L2's timer since, without
 * a trap. */
unsigned timers_interrupt(struct vcpu *vcpu, unsigned physical);

#endif
