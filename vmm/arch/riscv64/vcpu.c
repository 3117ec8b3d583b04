/* Sets up a RISC-V vCPU and handles its exits (see vmm_arch.h). */
#include <errno.h>

#include "vmm/system_event.h"
#include <arch/kvm.h>

/* KVM has set it up already, and stopped all vCPUs but the first, for the guest to start by SBI calls. It
 * passes on calls of the debug console only if told to; before Linux 6.7 it can't. */
bool arch_vcpu_init(struct vcpu *vcpu)
{
	(void)register_try(vcpu, SBI_EXTENSION(KVM_RISCV_SBI_EXT_DBCN), 1);
	return true;
}

static void give_up(struct vcpu *vcpu, const char *why, unsigned long number)
{
	vm_end(vcpu->vm, END_KVM,
	       "%s on vCPU %u at pc 0x%lx, scause 0x%lx, stval 0x%lx (exit reason %u, 0x%lx)", why,
	       vcpu->number, register_get(vcpu, REGISTER(CORE, regs.pc)),
	       register_get(vcpu, REGISTER(CSR, scause)), register_get(vcpu, REGISTER(CSR, stval)),
	       vcpu->run->exit_reason, number);
}

bool arch_run_failed(struct vcpu *vcpu, int error)
{
	if (error != EOPNOTSUPP)
		return false;
	give_up(vcpu, "a jump out of memory, or an access to a device that KVM can't decode", 0);
	return true;
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
	case KVM_EXIT_RISCV_SBI:
		sbi_exit(vcpu);
		return;
	case KVM_EXIT_INTR:
		return;
	case KVM_EXIT_SYSTEM_EVENT:
		system_event(vcpu);
		return;
	case KVM_EXIT_RISCV_CSR:
		give_up(vcpu, "an access to a register that KVM does not emulate",
			run->riscv_csr.csr_num);
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
