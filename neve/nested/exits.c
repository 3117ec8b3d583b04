/*
 * Decides who handles the exceptions of a guest hypervisor (L1) and of its VM (L2); see nested.h. Those of
 * L2 go to L1, except faults of shadow tables and traps that only we have set. Those of L1 are ours.
 */
#include "nested/nested.h"

#include "core/arch.h"
#include "cpu/accessors.h"
#include "gic/gic.h"
#include "vm/vcpu.h"

/* The address of a stage-2 abort. After a permission fault that is no table walk HPFAR_EL2 is not valid (DDI 0487,
 * HPFAR_EL2), and the nested VM's stage 1 is walked instead, if it still translates the address. */
static uint64_t find_ipa(struct vcpu *vcpu, uint64_t esr)
{
	const struct exit *exit = &vcpu->arch.exit;
	bool valid = esr & ABORT_STAGE1_WALK ||
		     (esr & ABORT_STATUS & ~STATUS_LEVEL) != STATUS_PERMISSION;
	uint64_t ipa;

	return !valid && nested_walk_vm(vcpu, exit->far, &ipa) ? ipa : exit_ipa(exit);
}

/* A stage-2 abort is ours if L1's own tables allow the access: the page is not in the shadow yet, or is
 * one of our devices. If not, L1 gets the fault of its own tables. */
static void abort_of_l2(struct vcpu *vcpu, uint64_t esr, bool data)
{
	struct nested *nested = &vcpu->arch.nested;
	uint64_t ipa = find_ipa(vcpu, esr), bytes;
	bool walk = esr & ABORT_STAGE1_WALK;
	enum guest_access access = walk		       ? GUEST_READS
				   : !data	       ? GUEST_FETCHES
				   : esr & ABORT_WRITE ? GUEST_WRITES
						       : GUEST_READS;
	struct vm *vm = vcpu->vm;
	struct guest_leaf leaf;
	struct table_leaf own;
	bool memory;

	/* L1's stage 2, then ours. */
	lock_take(&vm->lock);
	if (ipa >> TABLE_INPUT_BITS) /* beyond what L1's CPU can translate for it */
		leaf = (struct guest_leaf){ .faults = true, .status = STATUS_TRANSLATION };
	else
		leaf = guest_walk(nested->shadow->vttbr, nested->shadow->vtcr, ipa, access,
				  nested_read_entry, vm);
	memory = !leaf.faults && arch_guest_memory(vm, leaf.output, &bytes) &&
		 table_walk(&vm->arch.stage2, leaf.output, &own);
	if (memory)
		shadow_map(nested->shadow, ipa, &leaf, &own);
	lock_release(&vm->lock);

	if (memory) {
		vcpu_count(vcpu, CAUSE_SHADOW_FAULT);
		__asm__ volatile("dsb ishst" : : : "memory");
	} else if (leaf.faults) {
		vcpu_count(vcpu, CAUSE_STAGE2_FAULT);
		nested_exit_to_l1(vcpu, VECTOR_LOWER, (esr & ~(uint64_t)ABORT_STATUS) | leaf.status,
				  ipa >> HPFAR_UP & HPFAR_FIPA);
	} else if (!data || walk || !vcpu_device_access(vcpu, esr, leaf.output)) {
		vcpu_count(vcpu, CAUSE_NOWHERE);
		vcpu_external_abort(vcpu, esr);
	}
}

/* A register that we trap in L2 is ours if L1 does not trap it too. */
static bool register_is_ours(const struct vcpu *vcpu, uint64_t esr)
{
	uint64_t hcr = vcpu->arch.nested.hcr;
	enum register_number number = register_find((uint32_t)esr & ENCODING_MASK);

	if (number == REG_NONE)
		return register_identifies((uint32_t)esr & ENCODING_MASK) && !(hcr & HCR_TID3);
	switch (register_rows[number].class) {
	case CLASS_IDENTITY:
		return !(hcr & HCR_TID3);
	case CLASS_SGI:
		return !(hcr & HCR_IMO);
	case CLASS_ZERO:
		return !(hcr & HCR_TACR);
	default:
		return false;
	}
}

/* A fault at L2's deferred page: either L1's tables do not map it, or they have mapped it since. */
static void page_fault(struct vcpu *vcpu, uint64_t esr)
{
	struct exit *exit = &vcpu->arch.exit;
	uint64_t address = nested_page_address(vcpu), page;
	unsigned status;

	vcpu_count(vcpu, CAUSE_PAGE_FAULT);
	if (nested_find_page(vcpu, address, &page, &status)) {
		WRITE(VNCR_EL2, page);
		return;
	}
	exit->far = address | (exit->far & (PAGE_BYTES - 1));
	nested_exit_to_l1(vcpu, VECTOR_LOWER, (esr & ~(uint64_t)ABORT_STATUS) | status, 0);
}

static bool exit_of_l2(struct vcpu *vcpu, uint64_t esr)
{
	uint64_t class = esr >> ESR_CLASS_SHIFT, status = esr & ABORT_STATUS & ~STATUS_LEVEL;
	uint64_t hcr = vcpu->arch.nested.hcr;

	/* An unaligned access to what L1 maps as a device goes to L1. */
	if ((class == EC_DATA_ABORT || class == EC_INSN_ABORT) && status != STATUS_ALIGNMENT) {
		if (!(hcr & HCR_VM) || status > STATUS_PERMISSION || status == STATUS_ACCESS_FLAG)
			return false;
		abort_of_l2(vcpu, esr, class == EC_DATA_ABORT);
		return true;
	}
	if (class == EC_OWN_ABORT) {
		page_fault(vcpu, esr);
		return true;
	}
	if (class == EC_SMC && !(hcr & HCR_TSC))
		return false;
	if (class == EC_SYSREG && register_is_ours(vcpu, esr))
		return false;
	if (class == EC_SYSREG)
		vcpu_count_register(vcpu, esr);
	else
		vcpu_count(vcpu, class == EC_HVC    ? CAUSE_HVC
				 : class == EC_SMC  ? CAUSE_SMC
				 : class == EC_WFX  ? CAUSE_WAIT
				 : class == EC_FP   ? CAUSE_FP
				 : class == EC_ERET ? CAUSE_ERET
						    : CAUSE_OTHER);
	nested_exit_to_l1(vcpu, VECTOR_LOWER, esr, vcpu->arch.exit.hpfar);
	return true;
}

bool nested_synchronous(struct vcpu *vcpu, uint64_t esr)
{
	unsigned immediate = esr & HVC_IMMEDIATE;

	if (!vcpu->arch.nested.in_el2)
		return exit_of_l2(vcpu, esr);
	switch (esr >> ESR_CLASS_SHIFT) {
	case EC_ERET:
		vcpu_count(vcpu, CAUSE_ERET);
		nested_eret(vcpu, esr);
		return true;
	case EC_HVC:
		if (immediate & CALL_MARK && nested_call(vcpu, immediate))
			return true;
		vcpu_count(vcpu, CAUSE_HVC); /* from virtual EL2 to itself */
		vcpu_inject(vcpu, esr);
		return true;
	case EC_SYSREG:
		return nested_register(vcpu, esr);
	}
	return false;
}
