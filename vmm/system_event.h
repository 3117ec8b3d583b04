/* Handles KVM_EXIT_SYSTEM_EVENT of firmware that KVM emulates (PSCI, SBI). For vcpu.c of an architecture. */
#pragma once

#include "vmm/vmm_arch.h"

/* Ends the machine; the message gives the guest's registers. */
static void give_up(struct vcpu *vcpu, const char *why, unsigned long number);

static void system_event(struct vcpu *vcpu)
{
	switch (vcpu->run->system_event.type) {
	case KVM_SYSTEM_EVENT_SHUTDOWN:
		vm_end(vcpu->vm, END_OFF, "the guest powered off");
		return;
	case KVM_SYSTEM_EVENT_RESET:
		vm_end(vcpu->vm, END_RESET, "the guest asked for a reset");
		return;
	default:
		give_up(vcpu, "an unknown system event", vcpu->run->system_event.type);
	}
}
