/* A vCPU of x86: what CPUID tells it, and what its exits mean (see arch.h). */
#include <cpuid.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "arch.h"
#include "vm.h"

/* ---- CPUID --------------------------------------------------------------------------------- */

#define MAX_LEAVES 256

#define LEAF_FEATURES	     1u
#define LEAF_TOPOLOGY	     0xbu
#define LEAF_TOPOLOGY_2	     0x1fu
#define LEAF_BRAND	     0x80000002u
#define LEAF_AMD_TOPOLOGY    0x8000001eu
#define FEATURE_HYPERVISOR   (1u << 31) /* of ECX */
#define FEATURE_X2APIC	     (1u << 21)
#define FEATURE_TSC_DEADLINE (1u << 24)

/* A vCPU's APIC id is its number. The rest of the topology stays the host's: our guest reads none. */
static void adjust_leaf(struct kvm_cpuid_entry2 *leaf, const struct vcpu *vcpu)
{
	switch (leaf->function) {
	case LEAF_FEATURES:
		leaf->ebx = (leaf->ebx & 0x00ffffff) | vcpu->number << 24;
		leaf->ecx |= FEATURE_HYPERVISOR | FEATURE_X2APIC;
		if (kvm_capability(vcpu->vm->kvm, KVM_CAP_TSC_DEADLINE_TIMER))
			leaf->ecx |= FEATURE_TSC_DEADLINE;
		break;
	case LEAF_BRAND:
	case LEAF_BRAND + 1:
	case LEAF_BRAND + 2: /* KVM leaves the processor's name out */
		__cpuid(leaf->function, leaf->eax, leaf->ebx, leaf->ecx, leaf->edx);
		break;
	case LEAF_TOPOLOGY:
	case LEAF_TOPOLOGY_2:
		leaf->edx = vcpu->number;
		break;
	case LEAF_AMD_TOPOLOGY:
		leaf->eax = vcpu->number;
		break;
	}
}

bool arch_vcpu_init(struct vcpu *vcpu, struct error *error)
{
	struct kvm_cpuid2 *leaves =
		calloc(1, sizeof(*leaves) + MAX_LEAVES * sizeof(leaves->entries[0]));
	bool done;

	if (!leaves)
		return error_set(error, "no memory for CPUID");
	leaves->nent = MAX_LEAVES;
	done = ioctl(vcpu->vm->kvm->fd, KVM_GET_SUPPORTED_CPUID, leaves) == 0;
	for (unsigned i = 0; done && i < leaves->nent; i++)
		adjust_leaf(&leaves->entries[i], vcpu);
	if (!done || ioctl(vcpu->fd, KVM_SET_CPUID2, leaves) < 0)
		done = error_set(error, "can't give vCPU %u its CPUID: %m", vcpu->number);
	free(leaves);
	return done;
}

/* ---- Exits --------------------------------------------------------------------------------- */

#define CODE_BYTES  8
#define PLACE_BYTES 160

static void handle_io(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	uint8_t *data = (uint8_t *)run + run->io.data_offset;

	/* String instructions bring several accesses of the same port at once. */
	for (uint32_t i = 0; i < run->io.count; i++, data += run->io.size)
		devices_access(&vcpu->vm->devices, SPACE_PORT, run->io.port,
			       run->io.direction == KVM_EXIT_IO_OUT, data, run->io.size);
}

/* Where the guest stands and the bytes there, as far as both can be found out. */
static const char *describe_place(const struct vcpu *vcpu, char *to, size_t bytes)
{
	struct kvm_regs registers;
	struct kvm_sregs special;
	struct kvm_translation place;
	int used;

	if (ioctl(vcpu->fd, KVM_GET_REGS, &registers) < 0 ||
	    ioctl(vcpu->fd, KVM_GET_SREGS, &special) < 0)
		return "at a place that KVM does not tell";
	used = snprintf(to, bytes, "at rip 0x%llx, cr0 0x%llx, cr3 0x%llx, bytes", registers.rip,
			special.cr0, special.cr3);
	place = (struct kvm_translation){ .linear_address = special.cs.base + registers.rip };
	if (ioctl(vcpu->fd, KVM_TRANSLATE, &place) < 0 || !place.valid)
		place.physical_address = UINT64_MAX;
	for (unsigned i = 0; i < CODE_BYTES; i++) {
		const uint8_t *code = memory_at(&vcpu->vm->memory, place.physical_address + i, 1);

		used += snprintf(to + used, bytes - (size_t)used, code ? " %02x" : " ?",
				 code ? *code : 0);
	}
	return to;
}

static void handle_internal_error(struct vcpu *vcpu)
{
	static const char *const names[] = {
		[KVM_INTERNAL_ERROR_EMULATION] = "an instruction that KVM can't emulate",
		[KVM_INTERNAL_ERROR_SIMUL_EX] = "exceptions on top of each other",
		[KVM_INTERNAL_ERROR_DELIVERY_EV] = "an exit while an event was delivered",
		[KVM_INTERNAL_ERROR_UNEXPECTED_EXIT_REASON] = "an exit that KVM did not expect",
	};
	uint32_t error = vcpu->run->internal.suberror;
	const char *name = error < sizeof(names) / sizeof(names[0]) ? names[error] : NULL;
	char place[PLACE_BYTES];

	vm_end(vcpu->vm, END_KVM, "KVM internal error %u on vCPU %u: %s, %s", error, vcpu->number,
	       name ? name : "of a kind not known here",
	       describe_place(vcpu, place, sizeof(place)));
}

void arch_exit(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	struct vm *vm = vcpu->vm;
	char place[PLACE_BYTES];

	switch (run->exit_reason) {
	case KVM_EXIT_IO:
		handle_io(vcpu);
		return;
	case KVM_EXIT_MMIO:
		devices_access(&vm->devices, SPACE_MMIO, run->mmio.phys_addr, run->mmio.is_write,
			       run->mmio.data, run->mmio.len <= 8 ? run->mmio.len : 8);
		return;
	case KVM_EXIT_INTR:
		return;
	case KVM_EXIT_INTERNAL_ERROR:
		handle_internal_error(vcpu);
		return;
	case KVM_EXIT_SHUTDOWN:
		vm_end(vm, END_RESET, "triple fault on vCPU %u %s", vcpu->number,
		       describe_place(vcpu, place, sizeof(place)));
		return;
	case KVM_EXIT_FAIL_ENTRY:
		vm_end(vm, END_KVM,
		       "the processor refused to enter vCPU %u: hardware reason 0x%llx",
		       vcpu->number, run->fail_entry.hardware_entry_failure_reason);
		return;
	default:
		vm_end(vm, END_KVM, "vCPU %u left the guest for reason %u (%s) %s", vcpu->number,
		       run->exit_reason, vcpu_reason_name(run->exit_reason),
		       describe_place(vcpu, place, sizeof(place)));
	}
}
