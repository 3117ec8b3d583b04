/*
 * Enters a guest and handles its exits. A fault of the guest becomes an exception in the guest, or ends its
 * VM, never the hypervisor. New kinds of exceptions go into synchronous().
 */
#include "vm/vcpu.h"

#include "core/arch.h"
#include "cpu/accessors.h"
#include "cpu/cpu.h"
#include "exits/sysreg.h"
#include "gic/gic.h"
#include "kvm410/kvm410.h"
#include "machine/machine.h"
#include "nested/nested.h"
#include "vm/inject.h"
#include "vm/mmio.h"
#include "vm/vm.h"

/* ---- Exceptions ------------------------------------------------------------------------------ */

/* The classes of exceptions for which FAR_EL2 is valid: a bit for each. */
#define HAVE_ADDRESS                                                            \
	(1ull << EC_DATA_ABORT | 1ull << EC_INSN_ABORT | 1ull << EC_OWN_ABORT | \
	 1ull << EC_PC_ALIGNMENT | 1ull << EC_WATCHPOINT)

void vcpu_see_exit(struct vcpu *vcpu)
{
	struct exit *exit = &vcpu->arch.exit;

	exit->esr = READ(ESR_EL2);
	if (!(HAVE_ADDRESS >> (exit->esr >> ESR_CLASS_SHIFT & ESR_CLASS_MASK) & 1))
		return;
	exit->far = READ(FAR_EL2);
	exit->hpfar = READ(HPFAR_EL2);
}

/* An EL1 register of the guest: in the hardware, or where kvm410 saved it. */
#define READ_EL1(vcpu, name) \
	(is_kvm410(vcpu) ? (vcpu)->arch.kvm410.guest.value[REG_##name] : READ(name))
#define WRITE_EL1(vcpu, name, to)                                         \
	do {                                                              \
		if (is_kvm410(vcpu))                                      \
			(vcpu)->arch.kvm410.guest.value[REG_##name] = to; \
		else                                                      \
			WRITE(name, to);                                  \
	} while (0)

/* ---- Exceptions for the guest --------------------------------------------------------------- */

/* PSTATE as SPSR has it after an exception. Virtual EL2 is the hardware's EL1, and is told EL2, as by FEAT_NV; only
 * where we see all writes to SPSR_EL2 do we let it read EL1's register otherwise (nested_tracks()). */
static uint64_t seen_pstate(const struct vcpu *vcpu)
{
	uint64_t pstate = vcpu->arch.context.pstate;

	if (is_nested(vcpu) && vcpu->arch.nested.in_el2 && !nested_tracks(vcpu) &&
	    (pstate & PSTATE_LEVEL) == LEVEL_EL1)
		pstate ^= LEVEL_EL1 | LEVEL_EL2;
	return pstate;
}

void vcpu_inject(struct vcpu *vcpu, uint64_t esr)
{
	struct context *context = &vcpu->arch.context;
	bool has_pan = READ_REGISTER(id_aa64mmfr1_el1) >> MMFR1_PAN & 15;
	struct injected to = inject_synchronous(READ_EL1(vcpu, VBAR_EL1), context->pstate, has_pan,
						READ_EL1(vcpu, SCTLR_EL1) & SCTLR_SPAN);

	/* The vector itself faults: the guest would loop for ever. A nested VM is ended by its
	 * hypervisor, not by us. */
	if (to.pc == context->pc && (!is_nested(vcpu) || vcpu->arch.nested.in_el2))
		vm_end(vcpu->vm, "error",
		       "vCPU %u: its exception vector, 0x%lx, takes an exception itself, without end",
		       vcpu->number, to.pc);
	WRITE_EL1(vcpu, ELR_EL1, context->pc);
	WRITE_EL1(vcpu, SPSR_EL1, seen_pstate(vcpu));
	WRITE_EL1(vcpu, ESR_EL1, esr);
	context->pc = to.pc;
	context->pstate = to.pstate;
}

static void undefined(struct vcpu *vcpu, uint64_t esr)
{
	vcpu_count(vcpu, CAUSE_UNDEFINED);
	vcpu_inject(vcpu, inject_undefined(esr));
}

void vcpu_external_abort(struct vcpu *vcpu, uint64_t esr)
{
	WRITE_EL1(vcpu, FAR_EL1, vcpu->arch.exit.far);
	vcpu_inject(vcpu, inject_external_abort(esr, vcpu->arch.context.pstate));
}

static void step_over(struct vcpu *vcpu, uint64_t esr)
{
	vcpu->arch.context.pc += esr & ESR_LENGTH_32 ? 4 : 2;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static void start_other(struct vm *vm, const struct psci_result *result)
{
	struct vcpu *other = &vm->vcpus[result->cpu];

	arch_vcpu_boot(other, result->entry, result->context);
	__atomic_store_n(&other->powered, true, __ATOMIC_RELEASE);
	arch_kick(other->cpu);
}

static void call(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;
	uint64_t *x = vcpu->arch.context.x;
	struct psci_result result;

	/* PSCI's state and `powered` change together. */
	lock_take(&vm->lock);
	result = psci_call(&vm->arch.psci, vcpu->number, x);
	if (result.action == PSCI_CPU_STOPS)
		vcpu->powered = false;
	else if (result.action == PSCI_START)
		start_other(vm, &result);
	lock_release(&vm->lock);
	x[0] = result.value;
	switch (result.action) {
	case PSCI_STANDBY:
		if (!vcpu->attention)
			arch_wait(); /* for a physical interrupt, which may cause a virtual one */
		break;
	case PSCI_OFF:
		vm_end(vm, "ok", "the guest powered off");
		break;
	case PSCI_RESET:
		vm_end(vm, "reset", "the guest asked for a reset");
		break;
	default:;
	}
}

/* After an HVC the PC is behind it, after a trapped SMC at it. Immediates other than 0 are reserved (DEN
 * 0028, 2.9). */
static void call_instruction(struct vcpu *vcpu, uint64_t esr, bool hvc)
{
	vcpu_count(vcpu, hvc ? CAUSE_HVC : CAUSE_SMC);
	if (esr & HVC_IMMEDIATE) {
		vcpu->arch.context.pc -= hvc ? 4 : 0;
		undefined(vcpu, esr);
		return;
	}
	if (!hvc)
		step_over(vcpu, esr);
	call(vcpu);
}

/* ---- Aborts of stage 2 ---------------------------------------------------------------------- */

bool vcpu_device_access(struct vcpu *vcpu, uint64_t esr, uint64_t ipa)
{
	uint64_t *x = vcpu->arch.context.x;
	struct mmio_register to;
	const struct device *device;
	struct access access;

	if (!mmio_decode(esr, &access, &to))
		return false;
	device = devices_find(&vcpu->vm->devices, ipa, access.bytes);
	if (!device)
		return false;
	vcpu_count(vcpu, device->cause + access.write);
	access.offset = ipa - device->first;
	access.value = access.write && to.number != XZR ? mmio_stored(&access, x[to.number]) : 0;
	lock_take(&vcpu->vm->lock);
	device->access(vcpu, device->context, &access);
	lock_release(&vcpu->vm->lock);
	if (!access.write && to.number != XZR)
		x[to.number] = mmio_loaded(&access, &to);
	step_over(vcpu, esr);
	return true;
}

static void stage2_abort(struct vcpu *vcpu, uint64_t esr, bool data)
{
	uint64_t ipa = exit_ipa(&vcpu->arch.exit);
	unsigned status = esr & ABORT_STATUS;
	struct vm *vm = vcpu->vm;
	uint64_t bytes;
	uint8_t *page;

	if ((status & ~STATUS_LEVEL) != STATUS_TRANSLATION) {
		/* All mappings allow read, write and execute, so this comes from the machine's memory
		 * itself. */
		vcpu_count(vcpu, CAUSE_OTHER);
		vm_end(vm, "error", "vCPU %u: an abort with status 0x%x at 0x%lx, ESR_EL2 0x%lx",
		       vcpu->number, status, vcpu->arch.context.pc, esr);
		return;
	}
	if (data && !(esr & ABORT_STAGE1_WALK) && vcpu_device_access(vcpu, esr, ipa))
		return;
	lock_take(&vm->lock);
	page = arch_guest_memory(vm, ipa, &bytes);
	lock_release(&vm->lock);
	vcpu_count(vcpu, page ? CAUSE_STAGE2_FAULT : CAUSE_NOWHERE);
	if (!page)
		vcpu_external_abort(vcpu, esr);
}

/* ---- Exits ---------------------------------------------------------------------------------- */

static void synchronous(struct vcpu *vcpu)
{
	uint64_t esr = vcpu->arch.exit.esr, class = esr >> ESR_CLASS_SHIFT;

	if (vcpu->arch.context.pstate & PSTATE_AARCH32) {
		vm_end(vcpu->vm, "error",
		       "vCPU %u: it runs AArch32 code, which its identification "
		       "registers say is not there",
		       vcpu->number);
		return;
	}
	if (is_nested(vcpu) && nested_synchronous(vcpu, esr))
		return;
	switch (class) {
	case EC_HVC:
	case EC_SMC:
		call_instruction(vcpu, esr, class == EC_HVC);
		break;
	case EC_SYSREG:
		if (sysreg_access(vcpu, esr))
			step_over(vcpu, esr);
		else
			undefined(vcpu, esr);
		break;
	case EC_INSN_ABORT:
	case EC_DATA_ABORT:
		stage2_abort(vcpu, esr, class == EC_DATA_ABORT);
		break;
	case EC_FP:
		vcpu_count(vcpu, CAUSE_FP);
		if (is_kvm410(vcpu))
			kvm410_let_fp(vcpu);
		else
			undefined(vcpu, esr);
		break;
	default: /* SVE, SME, trace, and everything else that a VM does not have */
		undefined(vcpu, esr);
	}
}

static unsigned enter(struct vcpu *vcpu)
{
	struct context *context = &vcpu->arch.context;
	unsigned how;

	if (is_kvm410(vcpu))
		return kvm410_enter(vcpu);
	WRITE(ELR_EL2, context->pc);
	WRITE(SPSR_EL2, context->pstate);
	how = context_enter(context);
	if (how == LEFT_SYNCHRONOUS)
		vcpu_see_exit(vcpu);
	context->pc = READ(ELR_EL2);
	context->pstate = READ(SPSR_EL2);
	return how;
}

void arch_vcpu_run(struct vcpu *vcpu)
{
	/* New interrupts go into list registers, or to L1 instead of its VM. */
	if (vcpu->attention && is_nested(vcpu))
		nested_before_enter(vcpu);
	if (vcpu->attention && !vcpu->arch.nested.lent)
		gic_refill(vcpu);

	switch (enter(vcpu)) {
	case LEFT_SYNCHRONOUS:
		synchronous(vcpu);
		break;
	case LEFT_IRQ:
		arch_take_interrupts(vcpu);
		break;
	case LEFT_SERROR:
		vcpu_count(vcpu, CAUSE_SERROR);
		vm_end(vcpu->vm, "error", "vCPU %u: a system error, ESR_EL2 0x%lx", vcpu->number,
		       READ(ESR_EL2));
		break;
	default: /* a FIQ: neither we nor guests use any */
		vcpu_count(vcpu, CAUSE_OTHER);
	}
}
