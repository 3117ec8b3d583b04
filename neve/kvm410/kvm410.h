/* World switch policies: what is saved and restored around a guest, and in which order. */
#ifndef POLICY_H
#define POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/registers.h"

struct vcpu;

/* The guest's EL1, or the host half's, as Linux' struct kvm_cpu_context keeps it. */
struct policy_context {
	uint64_t value[REGISTER_COUNT];
};

struct policy_state {
	struct policy_context host, guest;
	bool let_fp; /* its floating point trapped: not again before it leaves */
};

/* As Linux 4.10's KVM: enters the guest and returns when it has left, like context_enter(). */
unsigned policy_kvm_enter(struct vcpu *vcpu);

/* After the vCPU's reset: what is in EL1 is the guest's first state. */
void policy_kvm_reset(struct vcpu *vcpu);

/* Its floating point trapped. */
void policy_kvm_let_fp(struct vcpu *vcpu);

#endif
