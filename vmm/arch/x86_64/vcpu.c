/* Sets up an x86 vCPU's CPUID and handles its exits (see vmm_arch.h). */
#include <cpuid.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vmm/vmm_arch.h"

#define MAX_LEAVES	     256
#define HYPERVISOR_LEAVES    0x40000000u
#define KVM_LEAVES_UP	     0x100u
#define FEATURE_HYPERVISOR   (1u << 31) /* in ECX */
#define FEATURE_X2APIC	     (1u << 21)
#define FEATURE_TSC_DEADLINE (1u << 24)

/* A vCPU's APIC ID is its number. The rest of the topology stays the host's: our guest does not read it. */
static void adjust_leaf(struct kvm_cpuid_entry2 *leaf, const struct vcpu *vcpu)
{
	switch (leaf->function) {
	case 0x1: /* features */
		leaf->ebx = (leaf->ebx & 0x00ffffff) | vcpu->number << 24;
		leaf->ecx |= FEATURE_HYPERVISOR | FEATURE_X2APIC;
		if (kvm_capability(vcpu->vm->kvm, KVM_CAP_TSC_DEADLINE_TIMER) > 0)
			leaf->ecx |= FEATURE_TSC_DEADLINE;
		break;
	case 0x80000002: /* the CPU's name, which KVM omits */
	case 0x80000003:
	case 0x80000004:
		__cpuid(leaf->function, leaf->eax, leaf->ebx, leaf->ecx, leaf->edx);
		break;
	case 0xb: /* topology */
	case 0x1f:
		leaf->edx = vcpu->number;
		break;
	case 0x8000001e: /* AMD's topology */
		leaf->eax = vcpu->number;
	}
}

union leaves {
	struct kvm_cpuid2 all;
	uint8_t room[sizeof(struct kvm_cpuid2) + MAX_LEAVES * sizeof(struct kvm_cpuid_entry2)];
};

/* Hyper-V's leaves take the place of KVM's, which move up (Linux, cpuid.rst: a guest looks for them at each
 * multiple of 0x100). */
static bool add_hyperv(struct vcpu *vcpu, union leaves *leaves)
{
	union leaves hyperv = { .all.nent = MAX_LEAVES };
	struct kvm_cpuid2 *all = &leaves->all;

	if (ioctl(vcpu->fd, KVM_GET_SUPPORTED_HV_CPUID, &hyperv) < 0)
		return fail("this KVM has no enlightenments of Hyper-V: %m");
	for (unsigned i = 0; i < all->nent; i++) {
		struct kvm_cpuid_entry2 *leaf = &all->entries[i];

		if ((leaf->function & ~0xffu) != HYPERVISOR_LEAVES)
			continue;
		leaf->function += KVM_LEAVES_UP;
		if (leaf->function == HYPERVISOR_LEAVES + KVM_LEAVES_UP && leaf->eax)
			leaf->eax += KVM_LEAVES_UP;
	}
	if (all->nent + hyperv.all.nent > MAX_LEAVES)
		return fail("KVM has more than %u leaves of CPUID", MAX_LEAVES);
	memcpy(all->entries + all->nent, hyperv.all.entries,
	       hyperv.all.nent * sizeof(hyperv.all.entries[0]));
	all->nent += hyperv.all.nent;
	return true;
}

bool arch_vcpu_init(struct vcpu *vcpu)
{
	union leaves leaves = { .all.nent = MAX_LEAVES };

	if (ioctl(vcpu->vm->kvm->fd, KVM_GET_SUPPORTED_CPUID, &leaves) < 0)
		return fail("can't read the CPUID that KVM supports: %m");
	for (unsigned i = 0; i < leaves.all.nent; i++)
		adjust_leaf(&leaves.all.entries[i], vcpu);
	if (vcpu->vm->config->hyperv && !add_hyperv(vcpu, &leaves))
		return false;
	return ioctl(vcpu->fd, KVM_SET_CPUID2, &leaves) == 0 ||
	       fail("can't give vCPU %u its CPUID: %m", vcpu->number);
}

#define CODE_BYTES 8

/* Ends the machine; the message gives the guest's registers and the instruction bytes, where KVM can
 * translate the address. */
static void give_up(struct vcpu *vcpu, int end, const char *why, unsigned long number)
{
	struct kvm_regs registers = { 0 };
	struct kvm_sregs special = { 0 };
	char text[8 * CODE_BYTES];
	struct text code;

	ioctl(vcpu->fd, KVM_GET_REGS, &registers);
	ioctl(vcpu->fd, KVM_GET_SREGS, &special);
	text_start(&code, text, sizeof(text));
	for (unsigned i = 0; i < CODE_BYTES; i++) {
		/* Byte by byte: the next may be in another page, or unmapped. */
		struct kvm_translation place = { .linear_address =
							 special.cs.base + registers.rip + i };
		const uint8_t *at = NULL;

		if (ioctl(vcpu->fd, KVM_TRANSLATE, &place) == 0 && place.valid)
			at = memory_at(&vcpu->vm->memory, place.physical_address, 1);
		text_printf(&code, at ? " %02x" : " ?", at ? *at : 0);
	}
	vm_end(vcpu->vm, end,
	       "%s on vCPU %u at rip 0x%llx, cr0 0x%llx, cr3 0x%llx, bytes%s (exit reason %u, 0x%lx)",
	       why, vcpu->number, registers.rip, special.cr0, special.cr3, text,
	       vcpu->run->exit_reason, number);
}

void arch_exit(struct vcpu *vcpu)
{
	static const char *const internal_errors[] = {
		[KVM_INTERNAL_ERROR_EMULATION] = "an instruction that KVM can't emulate",
		[KVM_INTERNAL_ERROR_SIMUL_EX] = "simultaneous exceptions",
		[KVM_INTERNAL_ERROR_DELIVERY_EV] = "an exit during event delivery",
		[KVM_INTERNAL_ERROR_UNEXPECTED_EXIT_REASON] = "an unexpected exit",
	};
	struct kvm_run *run = vcpu->run;
	struct devices *devices = &vcpu->vm->devices;
	uint8_t *data = (uint8_t *)run + run->io.data_offset;

	switch (run->exit_reason) {
	case KVM_EXIT_IO: /* string instructions give several accesses in one exit */
		for (uint32_t i = 0; i < run->io.count; i++, data += run->io.size)
			devices_access(devices, SPACE_PORT, run->io.port,
				       run->io.direction == KVM_EXIT_IO_OUT, data, run->io.size);
		return;
	case KVM_EXIT_MMIO:
		devices_access(devices, SPACE_MMIO, run->mmio.phys_addr, run->mmio.is_write,
			       run->mmio.data, run->mmio.len <= 8 ? run->mmio.len : 8);
		return;
	case KVM_EXIT_INTR:
		return;
	case KVM_EXIT_SHUTDOWN:
		give_up(vcpu, END_RESET, "triple fault", 0);
		return;
	case KVM_EXIT_INTERNAL_ERROR:
		give_up(vcpu, END_KVM,
			run->internal.suberror < sizeof(internal_errors) / sizeof(char *)
				? internal_errors[run->internal.suberror]
				: "KVM internal error",
			run->internal.suberror);
		return;
	case KVM_EXIT_FAIL_ENTRY:
		give_up(vcpu, END_KVM, "the processor refused to enter",
			run->fail_entry.hardware_entry_failure_reason);
		return;
	default:
		give_up(vcpu, END_KVM, "an unknown exit", 0);
	}
}
