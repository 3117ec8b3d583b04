/* The world switch of Linux 4.10's KVM, as a VM has it with policy=kvm-4.10 and its variants. (policy=lean is
 * vm/switch.S alone.) */
#ifndef KVM410_H
#define KVM410_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/registers.h"

struct vcpu;

/* The guest's EL1, or the host half's, as Linux' struct kvm_cpu_context keeps it. */
struct kvm410_context {
	uint64_t value[REGISTER_COUNT];
};

struct kvm410_state {
	struct kvm410_context host, guest;
	bool let_fp; /* its floating point trapped: it does not again before it leaves */
};

/* Enters the guest and returns when it has left, like context_enter(). */
unsigned kvm410_enter(struct vcpu *vcpu);

/* After the vCPU's reset: what is in EL1 is the guest's first state. */
void kvm410_reset(struct vcpu *vcpu);

/* Its floating point trapped. */
void kvm410_let_fp(struct vcpu *vcpu);

#endif
