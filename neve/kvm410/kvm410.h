/* The world switch of Linux 4.10's KVM, which a VM gets with policy=kvm-4.10 and its variants.
 * (policy=lean uses only exits/switch.S.) */
#ifndef KVM410_H
#define KVM410_H

#include <stdbool.h>
#include <stdint.h>

struct vcpu;

/* Enters the guest and returns at its next exit, like context_enter(). */
unsigned kvm410_enter(struct vcpu *vcpu);

/* Called after the vCPU's reset: EL1's registers are the guest's initial state. */
void kvm410_reset(struct vcpu *vcpu);

/* Handles a trap of floating point. */
void kvm410_let_fp(struct vcpu *vcpu);

#endif
