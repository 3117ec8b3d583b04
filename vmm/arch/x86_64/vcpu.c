/* A vCPU of x86: what CPUID tells it, and what its exits mean (see arch.h). */
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
#define LEAF_CACHES	     4u
#define LEAF_TOPOLOGY	     0xbu
#define LEAF_TOPOLOGY_2	     0x1fu
#define LEAF_AMD_TOPOLOGY    0x8000001eu
#define FEATURE_HYPERVISOR   (1u << 31) /* of ECX */
#define FEATURE_X2APIC	     (1u << 21)
#define FEATURE_TSC_DEADLINE (1u << 24)
#define FEATURE_THREADS	     (1u << 28) /* of EDX: EBX counts logical processors */
#define TOPOLOGY_THREAD	     1u
#define TOPOLOGY_CORE	     2u

/* Each vCPU is a core of one socket; its APIC id is its number. */
static void describe_topology(struct kvm_cpuid_entry2 *leaf, unsigned number, unsigned bits)
{
	leaf->edx = number;
	leaf->ecx = leaf->index;
	leaf->eax = leaf->ebx = 0;
	if (leaf->index == 0) {
		leaf->ebx = 1;
		leaf->ecx |= TOPOLOGY_THREAD << 8;
	} else if (leaf->index == 1) {
		leaf->eax = bits;
		leaf->ebx = 1u << bits;
		leaf->ecx |= TOPOLOGY_CORE << 8;
	}
}

static void adjust_leaf(struct kvm_cpuid_entry2 *leaf, const struct vm *vm, unsigned number,
			unsigned bits)
{
	switch (leaf->function) {
	case LEAF_FEATURES:
		leaf->ebx = (leaf->ebx & 0xffff) | 1u << bits << 16 | number << 24;
		leaf->ecx |= FEATURE_HYPERVISOR | FEATURE_X2APIC;
		if (kvm_capability(vm->kvm, KVM_CAP_TSC_DEADLINE_TIMER) > 0)
			leaf->ecx |= FEATURE_TSC_DEADLINE;
		leaf->edx = bits ? leaf->edx | FEATURE_THREADS : leaf->edx & ~FEATURE_THREADS;
		break;
	case LEAF_CACHES: /* no cache is shared, and the package has so many cores */
		leaf->eax = (leaf->eax & 0x3fff) | ((1u << bits) - 1) << 26;
		break;
	case LEAF_TOPOLOGY:
	case LEAF_TOPOLOGY_2:
		describe_topology(leaf, number, bits);
		break;
	case LEAF_AMD_TOPOLOGY:
		leaf->eax = number;
		leaf->ebx = number; /* the core's number; one thread each */
		leaf->ecx = 0;
		break;
	}
}

bool arch_vcpu_init(struct vcpu *vcpu, struct error *error)
{
	const struct vm *vm = vcpu->vm;
	struct kvm_cpuid2 *leaves =
		calloc(1, sizeof(*leaves) + MAX_LEAVES * sizeof(leaves->entries[0]));
	unsigned bits = 0;
	bool done = false;

	while (1u << bits < vm->vcpu_wanted)
		bits++;
	if (!leaves)
		return error_errno(error, "no memory for CPUID");
	leaves->nent = MAX_LEAVES;
	if (ioctl(vm->kvm->fd, KVM_GET_SUPPORTED_CPUID, leaves) < 0) {
		error_errno(error, "KVM_GET_SUPPORTED_CPUID");
	} else {
		for (unsigned i = 0; i < leaves->nent; i++)
			adjust_leaf(&leaves->entries[i], vm, vcpu->number, bits);
		done = ioctl(vcpu->fd, KVM_SET_CPUID2, leaves) == 0 ||
		       error_errno(error, "KVM_SET_CPUID2 of vCPU %u", vcpu->number);
	}
	free(leaves);
	return done;
}

/* ---- Exits --------------------------------------------------------------------------------- */

static void handle_io(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	uint8_t *data = (uint8_t *)run + run->io.data_offset;

	/* String instructions bring several accesses of the same port at once. */
	for (uint32_t i = 0; i < run->io.count; i++, data += run->io.size)
		devices_access(&vcpu->vm->devices, SPACE_PORT, run->io.port,
			       run->io.direction == KVM_EXIT_IO_OUT, data, run->io.size);
}

/* Adds where the guest stands and the bytes there, as far as both can be found out. */
static void describe_place(const struct vcpu *vcpu, char *to, size_t bytes)
{
	struct kvm_regs registers;
	struct kvm_sregs special;
	struct kvm_translation place;
	const uint8_t *code = NULL;
	int used;

	*to = 0;
	if (ioctl(vcpu->fd, KVM_GET_REGS, &registers) < 0 ||
	    ioctl(vcpu->fd, KVM_GET_SREGS, &special) < 0)
		return;
	place = (struct kvm_translation){ .linear_address = registers.rip + special.cs.base };
	if (ioctl(vcpu->fd, KVM_TRANSLATE, &place) == 0 && place.valid)
		for (uint64_t most = 8; most && !code; most--)
			code = memory_at(&vcpu->vm->memory, place.physical_address, most);
	used = snprintf(to, bytes, "at rip 0x%llx (cr0 0x%llx, cr3 0x%llx)%s", registers.rip,
			special.cr0, special.cr3, code ? ", bytes" : "");
	for (unsigned i = 0; code && i < 8 && used > 0 && (size_t)used + 4 < bytes; i++) {
		code = memory_at(&vcpu->vm->memory, place.physical_address + i, 1);
		if (code)
			used += snprintf(to + used, bytes - (size_t)used, " %02x", *code);
	}
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
	char place[256];

	describe_place(vcpu, place, sizeof(place));
	vm_end(vcpu->vm, END_KVM, "KVM internal error %u on vCPU %u: %s, %s", error, vcpu->number,
	       name ? name : "of a kind not known here", place);
}

void arch_exit(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	struct vm *vm = vcpu->vm;
	char place[256];

	switch (run->exit_reason) {
	case KVM_EXIT_IO:
		handle_io(vcpu);
		return;
	case KVM_EXIT_MMIO:
		devices_access(&vm->devices, SPACE_MMIO, run->mmio.phys_addr, run->mmio.is_write,
			       run->mmio.data, run->mmio.len <= 8 ? run->mmio.len : 8);
		return;
	case KVM_EXIT_INTR:
	case KVM_EXIT_IRQ_WINDOW_OPEN:
		return;
	case KVM_EXIT_INTERNAL_ERROR:
		handle_internal_error(vcpu);
		return;
	case KVM_EXIT_SHUTDOWN:
		describe_place(vcpu, place, sizeof(place));
		vm_end(vm, END_RESET, "triple fault on vCPU %u %s", vcpu->number, place);
		return;
	case KVM_EXIT_FAIL_ENTRY:
		vm_end(vm, END_KVM,
		       "the processor refused to enter vCPU %u: hardware reason 0x%llx",
		       vcpu->number, run->fail_entry.hardware_entry_failure_reason);
		return;
	default:
		describe_place(vcpu, place, sizeof(place));
		vm_end(vm, END_KVM, "vCPU %u left the guest for reason %u (%s) %s", vcpu->number,
		       run->exit_reason, vcpu_reason_name(run->exit_reason), place);
	}
}
