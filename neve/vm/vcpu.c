/*
 * The main loop of a vCPU. Each vCPU has a CPU of its own and runs its guest until its VM ends. There is no
 * scheduler, so that measurements contain only the world switch.
 */
#include "vm/vm.h"

#include "core/arch.h"

void vcpu_notify(struct vm *vm, uint32_t mask, const struct vcpu *self)
{
	for (unsigned i = 0; i < vm->vcpu_count; i++) {
		struct vcpu *vcpu = &vm->vcpus[i];

		if (!(mask >> i & 1))
			continue;
		vcpu->attention = true;
		if (vcpu != self)
			arch_kick(vcpu->cpu);
	}
}

/* The last vCPU that leaves an ended VM sends the `bye` record. */
static void leave(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;
	struct record record;

	lock_take(&vm->lock);
	if (!--vm->vcpus_left) {
		console_guest_flush(&vm->console);
		record_start(&record, "bye");
		record_string(&record, "status", vm->status);
		record_string(&record, "why", vm->why);
		record_send(&record, &vm->line);
		__atomic_store_n(&vm->state, VM_ENDED, __ATOMIC_RELEASE);
	}
	lock_release(&vm->lock);
}

void vcpu_run(struct vcpu *vcpu)
{
	while (__atomic_load_n(&vcpu->vm->state, __ATOMIC_ACQUIRE) == VM_RUNS) {
		if (!__atomic_load_n(&vcpu->powered, __ATOMIC_ACQUIRE)) {
			arch_wait();
			arch_take_interrupts(vcpu);
			continue;
		}
		if (vcpu->must_reset) {
			vcpu->must_reset = false;
			arch_vcpu_reset(vcpu);
		}
		arch_vcpu_run(vcpu);
	}
	leave(vcpu);
}
