/* Sets up an Arm vCPU and handles its exits (see vmm_arch.h). */
#include <sys/ioctl.h>

#include "vmm/system_event.h"
#include <arch/board.h>

/* Bits of kvm_vcpu_init.features; Linux 6.16, older headers lack them. */
#define HAS_EL2		    7
#define HAS_EL2_E2H0	    8
/* For KVM_CHECK_EXTENSION; the same. */
#define CAPABILITY_EL2	    240
#define CAPABILITY_EL2_E2H0 241

/* Does KVM offer such a virtual EL2? */
static bool offers(const struct kvm *kvm, enum el2 el2)
{
	if (el2 != EL2_NONE && kvm_capability(kvm, CAPABILITY_EL2) <= 0)
		return fail("this KVM offers no virtual EL2: it needs a processor with "
			    "FEAT_NV2, Linux "
			    "6.16 or newer, and kvm-arm.mode=nested on its command line");
	if (el2 == EL2_NO_VHE && kvm_capability(kvm, CAPABILITY_EL2_E2H0) <= 0)
		return fail("this KVM offers a virtual EL2 with VHE only: without VHE, as for Xen, "
			    "it needs a processor that implements HCR_EL2.NV1 "
			    "(ID_AA64MMFR4_EL1.E2H0 is 0)");
	return true;
}

bool arch_vcpu_init(struct vcpu *vcpu)
{
	const struct vm *vm = vcpu->vm;
	enum el2 el2 = config_el2(vm->config);
	struct kvm_vcpu_init init;

	if (!offers(vm->kvm, el2))
		return false;
	if (ioctl(vm->fd, KVM_ARM_PREFERRED_TARGET, &init) < 0)
		return fail("KVM reports no preferred CPU type: %m");
	init.features[0] |= 1u << KVM_ARM_VCPU_PSCI_0_2;
	if (vcpu->number)
		init.features[0] |= 1u << KVM_ARM_VCPU_POWER_OFF;
	if (el2 != EL2_NONE)
		init.features[0] |= 1u << HAS_EL2;
	if (el2 == EL2_NO_VHE)
		init.features[0] |= 1u << HAS_EL2_E2H0;
	return ioctl(vcpu->fd, KVM_ARM_VCPU_INIT, &init) == 0 ||
	       fail("KVM can't set up vCPU %u: %m", vcpu->number);
}

static uint64_t core_register(const struct vcpu *vcpu, size_t offset)
{
	uint64_t value = 0;
	struct kvm_one_reg reg = { .addr = (uint64_t)&value };

	reg.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | offset / sizeof(uint32_t);
	(void)ioctl(vcpu->fd, KVM_GET_ONE_REG, &reg);
	return value;
}

static void give_up(struct vcpu *vcpu, const char *why, unsigned long number)
{
	vm_end(vcpu->vm, END_KVM, "%s on vCPU %u at pc 0x%lx, pstate 0x%lx (exit reason %u, 0x%lx)",
	       why, vcpu->number, core_register(vcpu, offsetof(struct kvm_regs, regs.pc)),
	       core_register(vcpu, offsetof(struct kvm_regs, regs.pstate)), vcpu->run->exit_reason,
	       number);
}

void arch_exit(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;

	switch (run->exit_reason) {
	case KVM_EXIT_MMIO:
		devices_access(&vcpu->vm->devices, SPACE_MMIO, run->mmio.phys_addr,
			       run->mmio.is_write, run->mmio.data,
			       run->mmio.len <= 8 ? run->mmio.len : 8);
		return;
	case KVM_EXIT_INTR:
		return;
	case KVM_EXIT_SYSTEM_EVENT:
		system_event(vcpu);
		return;
	case KVM_EXIT_ARM_NISV:
		give_up(vcpu, "an access to a device that KVM can't decode",
			run->arm_nisv.fault_ipa);
		return;
	case KVM_EXIT_INTERNAL_ERROR:
		give_up(vcpu, "KVM internal error", run->internal.suberror);
		return;
	case KVM_EXIT_FAIL_ENTRY:
		give_up(vcpu, "the processor refused to enter",
			run->fail_entry.hardware_entry_failure_reason);
		return;
	default:
		give_up(vcpu, "an unknown exit", 0);
	}
}
