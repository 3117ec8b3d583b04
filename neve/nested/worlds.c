/* Switches between a guest hypervisor (L1) and its VM (L2); see nested.h. docs/neve-switch.md lists the
 * steps. */
#include "nested/nested.h"

#include "core/arch.h"
#include "core/memory.h"
#include "cpu/accessors.h"
#include "gic/gic.h"
#include "nested/gic_switch.h"
#include "nested/timers.h"
#include "vm/vcpu.h"

/* Bits of SCTLR_EL2 without VHE that mean the same in SCTLR_EL1. */
#define SCTLR_SAME                                                                              \
	(SCTLR_M | SCTLR_A | SCTLR_C | SCTLR_SA | SCTLR_I | SCTLR_EnDB | SCTLR_WXN | SCTLR_EE | \
	 SCTLR_EnDA | SCTLR_EnIB | SCTLR_EnIA)

#define SPSR_KEPT                                                                      \
	(PSTATE_NZCV | PSTATE_TCO | PSTATE_DIT | PSTATE_UAO | PSTATE_PAN | PSTATE_SS | \
	 PSTATE_DAIF | PSTATE_BTYPE | PSTATE_SSBS)

/* Bits that L1 may set in MDCR_EL2. */
#define MDCR_HEEDED (MDCR_TPM | MDCR_TPMCR | MDCR_TDA | MDCR_TDE | MDCR_TDOSA | MDCR_TDRA)

#define CNTHCTL_BOTH_VHE (CNTHCTL_BOTH << CNTHCTL_E2H_SHIFT)

_Static_assert(VMID_SHADOWS + SHADOWS <= VMIDS_OF_VM && SHADOWS > MAX_VCPUS, "VMIDs and shadows");

/* ---- Values of virtual EL2's registers in the format of EL1 ---------------------------------- */

uint64_t nested_sctlr(const struct vcpu *vcpu)
{
	uint64_t value = SLOT(&vcpu->arch.nested, SCTLR_EL2);

	return is_vhe(vcpu) ? value : (value & SCTLR_SAME) | SCTLR_EL1_RES1;
}

uint64_t nested_tcr(const struct vcpu *vcpu)
{
	uint64_t value = SLOT(&vcpu->arch.nested, TCR_EL2);

	if (is_vhe(vcpu))
		return value;
	return (value & TCR_LOWER) | TCR_EPD1 | (value >> TCR_EL2_PS_SHIFT & 7) << TCR_IPS_SHIFT |
	       (value >> TCR_EL2_TBI & 1) << TCR_TBI0 | (value >> TCR_EL2_HA & 3) << TCR_HA |
	       (value >> TCR_EL2_HPD & 1) << TCR_HPD0 | (value >> TCR_EL2_DS & 1) << TCR_DS;
}

uint64_t nested_cpacr(const struct vcpu *vcpu)
{
	uint64_t value = SLOT(&vcpu->arch.nested, CPTR_EL2);

	if (is_vhe(vcpu))
		return value & ~(CPACR_ZEN | CPACR_SMEN); /* no SVE, no SME */
	return value & CPTR_TFP ? 0 : CPACR_FPEN;
}

/* EL2 takes debug exceptions of its own and of its programs only if it is a host, or if MDCR_EL2.TDE sends them there
 * (DDI 0487, D2.3). Otherwise what its VM set may not debug it. */
void nested_set_mdscr(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;
	bool own = is_host(vcpu) || SLOT(nested, MDCR_EL2) & MDCR_TDE;
	uint64_t value = own ? SLOT(nested, MDSCR_EL1) : 0;

	if (value == nested->mdscr) /* below another hypervisor the write may trap */
		return;
	WRITE(MDSCR_EL1, value);
	nested->mdscr = value;
}

/* Does the nested VM's floating point trap to its hypervisor? */
static bool traps_fp(const struct vcpu *vcpu)
{
	uint64_t value = SLOT(&vcpu->arch.nested, CPTR_EL2);

	return is_vhe(vcpu) ? !(value >> CPACR_FPEN_SHIFT & 1) : value & CPTR_TFP;
}

/* ---- Traps of the two worlds ---------------------------------------------------------------- */

void nested_trap_l1(struct vcpu *vcpu)
{
	bool vhe = is_vhe(vcpu), calls = mechanism(vcpu) == MECHANISM_PV;
	uint64_t hcr = HCR_GUEST | HCR_TTLB | HCR_AT, cptr = CPTR_GUEST, mdcr = MDCR_GUEST;

	switch (mechanism(vcpu)) {
	case MECHANISM_NV2: /* ARMv8.0's traps would keep accesses from the page */
		hcr = (hcr & ~HCR_TACR) | HCR_NV | HCR_NV2 | (vhe ? 0 : HCR_NV1);
		break;
	case MECHANISM_NV:
		hcr |= HCR_NV | (vhe ? 0 : HCR_NV1);
		__attribute__((fallthrough));
	case MECHANISM_PV:
		hcr |= vhe ? 0 : HCR_TVM | HCR_TRVM;
		cptr |= vhe || calls ? 0 : CPTR_TCPAC;
		mdcr |= MDCR_TDA;
		break;
	default:
		hcr &= ~HCR_TACR;
	}
	WRITE(HCR_EL2, hcr);
	WRITE(CPTR_EL2, cptr);
	WRITE(MDCR_EL2, (READ(MDCR_EL2) & MDCR_HPMN) | mdcr);
}

/* Virtual interrupts that are pending in L1's HCR_EL2, of the kinds whose physical interrupts L1 takes. */
static uint64_t virtual_interrupts(uint64_t hcr)
{
	return hcr & (hcr & (HCR_FMO | HCR_IMO | HCR_AMO)) << 3;
}

/* The bits of L1's HCR_EL2 for nested virtualization, if its CPU has that. */
static uint64_t heeded_nest(const struct vcpu *vcpu, uint64_t hcr)
{
	bool nv2 = mechanism(vcpu) == MECHANISM_NV2;

	if (!(hcr & HCR_NV) || !(nv2 || mechanism(vcpu) == MECHANISM_NV))
		return 0;
	return hcr & (HCR_NV | HCR_NV1 | HCR_AT | (nv2 ? HCR_NV2 : 0));
}

static void trap_l2(struct vcpu *vcpu, uint64_t hcr)
{
	const struct nested *nested = &vcpu->arch.nested;
	uint64_t counters = SLOT(nested, CNTHCTL_EL2) >> (is_vhe(vcpu) ? CNTHCTL_E2H_SHIFT : 0);
	uint64_t nest = heeded_nest(vcpu, hcr);

	/* With FEAT_NV2 ACTLR_EL1 is in the page. Whether keys of pointer authentication trap is up to L1. */
	WRITE(HCR_EL2, (HCR_GUEST & ~(HCR_APK | HCR_API | (nest & HCR_NV2 ? HCR_TACR : 0))) |
			       (hcr & HCR_HEEDED) | virtual_interrupts(hcr) | nest);
	WRITE(CPTR_EL2, (CPTR_GUEST & ~(VHE && traps_fp(vcpu) ? CPACR_FPEN : 0)) |
				(!VHE && traps_fp(vcpu) ? CPTR_TFP : 0) |
				(SLOT(nested, CPTR_EL2) & CPTR_TCPAC));
	WRITE(MDCR_EL2,
	      (READ(MDCR_EL2) & MDCR_HPMN) | MDCR_GUEST | (SLOT(nested, MDCR_EL2) & MDCR_HEEDED));
	WRITE(CNTHCTL_EL2,
	      (counters & CNTHCTL_EL1PCTEN ? CNTHCTL_EL1PCTEN << CNTHCTL_SHIFT : 0) |
		      (counters & CNTHCTL_EL1PCEN ? CNTHCTL_EL1PCEN << CNTHCTL_SHIFT : 0));
}

/* ---- L1's world ----------------------------------------------------------------------------- */

/* Saves what L1 can write without a trap; all other registers are always in the page. */
void nested_save_l1(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;

#define ROW(name) SLOT(nested, name##_EL2) = READ(name##_EL1);
	REDIRECTED(ROW)
	if (is_vhe(vcpu)) {
		REDIRECTED_VHE(ROW)
		SLOT(nested, CPTR_EL2) = READ(CPACR_EL1);
		SLOT(nested, CNTHCTL_EL2) = (SLOT(nested, CNTHCTL_EL2) & CNTHCTL_BOTH_VHE) |
					    (READ(CNTKCTL_EL1) & ~CNTHCTL_BOTH_VHE);
	} else if (mechanism(vcpu) == MECHANISM_NEVE) {
		SLOT(nested, SCTLR_EL2) = READ(SCTLR_EL1);
		SLOT(nested, TTBR1_EL2) = READ(TTBR1_EL1); /* address of its deferred page */
	}
#undef ROW
	nested->sp_el2 = READ(SP_EL1);
}

static void load_l1(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;

	/* Virtual EL2's registers, in EL1's format. */
#define ROW(name) WRITE(name##_EL1, SLOT(nested, name##_EL2));
	REDIRECTED(ROW)
#undef ROW
	WRITE(SCTLR_EL1, nested_sctlr(vcpu));
	WRITE(TCR_EL1, nested_tcr(vcpu));
	WRITE(TTBR0_EL1, SLOT(nested, TTBR0_EL2));
	WRITE(CPACR_EL1, nested_cpacr(vcpu));
	if (is_vhe(vcpu) || mechanism(vcpu) == MECHANISM_NEVE) {
		WRITE(TTBR1_EL1, SLOT(nested, TTBR1_EL2));
		WRITE(CONTEXTIDR_EL1, SLOT(nested, CONTEXTIDR_EL2));
	}
	if (is_vhe(vcpu))
		WRITE(CNTKCTL_EL1, SLOT(nested, CNTHCTL_EL2));
	WRITE(SP_EL1, nested->sp_el2);

	/* EL2's registers, for L1. */
	WRITE(CNTHCTL_EL2, CNTHCTL_GUEST);
	WRITE(CNTVOFF_EL2, is_vhe(vcpu) ? 0 : SLOT(nested, CNTVOFF_EL2));
	WRITE(VMPIDR_EL2, vcpu_id(vcpu));
	WRITE(VPIDR_EL2, READ_REGISTER(midr_el1));
	WRITE(VTTBR_EL2, nested_vttbr(vcpu->vm, 0));
	nested_trap_l1(vcpu);

	nested_set_mdscr(vcpu);

	/* With FEAT_NV2: L1's deferred page again, if L2 had one. */
	if (nested->lends_page) {
		WRITE(VNCR_EL2, nested->own_page);
		__atomic_store_n(&nested->lends_page, false, __ATOMIC_RELEASE);
	}

	nested->shadow = NULL;
	nested->in_el2 = true;
	vcpu->level = LEVEL_HYPERVISOR;
}

/* ---- L2's world ----------------------------------------------------------------------------- */

/* L2's EL1 registers: the second part of Table 3, and the debug register. */
#define IS_VM_STATE(nest) (NEST_##nest == NEST_VM || NEST_##nest == NEST_DEBUG)

static void save_l2(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;

#define ROW(name, op0, op1, n, m, op2, class, mask, nest, page) \
	if (IS_VM_STATE(nest))                                  \
		SLOT(nested, name) = READ(name);
	REGISTERS(ROW)
#undef ROW
	nested->mdscr = SLOT(nested, MDSCR_EL1);
	if (is_vhe(vcpu))
		SLOT(nested, CNTKCTL_EL1) = READ(CNTKCTL_EL1);

	/* A virtual SError that L2 has taken is not pending any more. */
	if (virtual_interrupts(nested->hcr) & HCR_VSE && !(READ(HCR_EL2) & HCR_VSE))
		SLOT(nested, HCR_EL2) &= ~HCR_VSE;

	timers_to_l1(vcpu);
}

static void load_l2(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;
	uint64_t hcr = SLOT(nested, HCR_EL2), vttbr = SLOT(nested, VTTBR_EL2);

#define ROW(name, op0, op1, n, m, op2, class, mask, nest, page) \
	if (IS_VM_STATE(nest))                                  \
		WRITE(name, SLOT(nested, name));
	REGISTERS(ROW)
#undef ROW
	if (is_vhe(vcpu))
		WRITE(CNTKCTL_EL1, SLOT(nested, CNTKCTL_EL1));

	/* EL2's registers, as L1 set them for L2. */
	WRITE(CNTVOFF_EL2, SLOT(nested, CNTVOFF_EL2));
	WRITE(VMPIDR_EL2, SLOT(nested, VMPIDR_EL2));
	WRITE(VPIDR_EL2, SLOT(nested, VPIDR_EL2));
	WRITE(VTTBR_EL2, hcr & HCR_VM ? nested_find_shadow(vcpu, vttbr)->hardware
				      : nested_vttbr(vcpu->vm, VMID_PLAIN));
	trap_l2(vcpu, hcr);
	if (heeded_nest(vcpu, hcr) & HCR_NV2)
		nested_map_page(vcpu);

	nested->hcr = hcr;
	nested->in_el2 = false;
	vcpu->level = LEVEL_VM;

	/* The timers come last: their interrupts depend on who has the list registers. */
	if (hcr & HCR_IMO)
		nested_gic_lend(vcpu);
	timers_to_l2(vcpu);
}

/* ---- From one to the other -------------------------------------------------------------------- */

/* As the hardware takes an exception to EL2. */
void nested_exit_to_l1(struct vcpu *vcpu, unsigned vector, uint64_t esr, uint64_t hpfar)
{
	struct nested *nested = &vcpu->arch.nested;
	struct context *context = &vcpu->arch.context;

	if (nested->lent)
		nested_gic_take_back(vcpu);
	save_l2(vcpu);

	/* The exception, as virtual EL2 reads it. */
	if (vector == VECTOR_LOWER) {
		SLOT(nested, ESR_EL2) = esr;
		SLOT(nested, FAR_EL2) = vcpu->arch.exit.far;
		SLOT(nested, HPFAR_EL2) = hpfar;
	}
	SLOT(nested, ELR_EL2) = nested->set_elr = context->pc;
	SLOT(nested, SPSR_EL2) = nested->set_spsr = context->pstate;
	context->pc = SLOT(nested, VBAR_EL2) + vector;
	context->pstate = PSTATE_EL1H | PSTATE_DAIF;

	load_l1(vcpu);
}

/* After an exception that virtual EL2 took from itself, SPSR_EL1 says EL2 with FEAT_NV2, and with FEAT_NV
 * for a VHE hypervisor; else it says EL1. Where we see each write to it, a value that neither we nor L1
 * wrote is from such an exception. */
bool nested_tracks(const struct vcpu *vcpu)
{
	return !is_vhe(vcpu) &&
	       (mechanism(vcpu) == MECHANISM_NV || mechanism(vcpu) == MECHANISM_PV);
}

/* Does L1 return to virtual EL2 itself? */
static bool returns_to_itself(const struct vcpu *vcpu, uint64_t pc, uint64_t spsr)
{
	const struct nested *nested = &vcpu->arch.nested;
	uint64_t level = spsr & PSTATE_LEVEL;

	if (level == LEVEL_EL2)
		return true;
	if (level == LEVEL_EL0 || is_host(vcpu))
		return is_host(vcpu);
	return nested_tracks(vcpu) && (pc != nested->set_elr || spsr != nested->set_spsr);
}

void nested_eret(struct vcpu *vcpu, uint64_t esr)
{
	struct context *context = &vcpu->arch.context;
	uint64_t pc = READ(ELR_EL1), spsr = READ(SPSR_EL1), level = spsr & PSTATE_LEVEL;

	if (esr & ERET_AUTHENTICATES)
		pc = nested_authenticate(vcpu, pc, esr & ERET_KEY_B);

	if (spsr & PSTATE_AARCH32) {
		nested_stop(vcpu, "its hypervisor returns to AArch32, SPSR_EL2 0x%lx", spsr);
		return;
	}

	/* An illegal return: the next instruction faults. */
	if (level > LEVEL_EL2 || spsr & PSTATE_RESERVED ||
	    (level == LEVEL_EL0 && spsr & PSTATE_SP)) {
		context->pstate |= PSTATE_IL;
		context->pc = pc;
		return;
	}

	if (returns_to_itself(vcpu, pc, spsr)) {
		nested_set_mdscr(vcpu);
		context->pstate = (spsr & SPSR_KEPT) | (level ? LEVEL_EL1 | (spsr & PSTATE_SP) : 0);
		context->pc = pc;
		return;
	}

	nested_save_l1(vcpu);
	context->pc = pc;
	context->pstate = (spsr & SPSR_KEPT) | (spsr & PSTATE_MODE);
	load_l2(vcpu);
}

void nested_before_enter(struct vcpu *vcpu)
{
	struct vm *vm = vcpu->vm;
	bool wanted;

	if (!vcpu->arch.nested.lent)
		return;

	/* Cleared before we look: later changes set it again. */
	__atomic_store_n(&vcpu->attention, false, __ATOMIC_SEQ_CST);
	vcpu->arch.nested.refill = true;

	lock_take(&vm->lock);
	wanted = vgic_interrupts(&vm->arch.vgic, vcpu->number, vcpu->arch.nested.own.control);
	lock_release(&vm->lock);
	if (wanted)
		nested_exit_to_l1(vcpu, VECTOR_LOWER_IRQ, 0, 0);
}

/* ---- Start ---------------------------------------------------------------------------------- */

/* The same at virtual EL1, where the kernel of a hypervisor without VHE runs. */
enum identity nested_identity(const struct vcpu *vcpu)
{
	return !is_nested(vcpu)			  ? IDENTITY_VM
	       : mechanism(vcpu) == MECHANISM_NV2 ? IDENTITY_EL2_NV2
	       : mechanism(vcpu) == MECHANISM_NV  ? IDENTITY_EL2_NV
						  : IDENTITY_EL2;
}

const char *nested_vm_init(struct vm *vm)
{
	uint64_t own = READ(ID_AA64MMFR2_EL1) >> MMFR2_NV & 15;
	const struct memory_range *pmem = &vm->config->pmem;
	uint64_t each = shadow_pages_needed(vm->ram_bytes + pmem->end - pmem->start);
	uint64_t pages, bytes = (SHADOWS * each + vm->vcpu_count) * PAGE_BYTES;

	if (vm->config->nest == MECHANISM_NV && own < 1)
		return "this CPU has no FEAT_NV: nest=pv and nest=neve need none";
	if (vm->config->nest == MECHANISM_NV2 && own < 2)
		return "this CPU has no FEAT_NV2: nest=pv and nest=neve need none";
	vm->arch.timers_swap = vm->config->vhe && READ_REGISTER(id_aa64mmfr1_el1) >> MMFR1_VH & 15;
	pages = memory_take(&machine_memory, bytes, PAGE_BYTES);
	if (!pages)
		return "the machine has no memory left for its shadow tables";
	__builtin_memset((void *)pages, 0, bytes);
	for (unsigned i = 0; i < vm->vcpu_count; i++) {
		vm->vcpus[i].arch.nested.own_page = pages;
		pages += PAGE_BYTES;
	}
	shadows_init(&vm->arch.shadows, pages, each,
		     (vm->arch.vttbr >> VTTBR_VMID_SHIFT) + VMID_SHADOWS);
	return NULL;
}

void nested_reset(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;

	__builtin_memset((void *)nested->own_page, 0, PAGE_BYTES);
	nested->page = (uint64_t *)nested->own_page;
	nested->lent = nested->maintenance = nested->lends_page = false;
	nested->mdscr = 0;
	nested->others_on = true; /* their state at reset is unknown */
	SLOT(nested, SCTLR_EL2) = is_vhe(vcpu) ? SCTLR_EL1_RES1 : SCTLR_EL2_RES1;
	SLOT(nested, SCTLR_EL1) = SCTLR_EL1_RES1;
	SLOT(nested, HCR_EL2) = HCR_RW | (is_vhe(vcpu) ? HCR_E2H : 0);
	SLOT(nested, VMPIDR_EL2) = vcpu_id(vcpu);
	SLOT(nested, VPIDR_EL2) = READ_REGISTER(midr_el1);
	SLOT(nested, ICH_VTR_EL2) = READ(ICH_VTR_EL2);
	nested_ich_copy_status(vcpu, REG_ICH_LR0_EL2);
	SLOT(nested, CNTVOFF_EL2) = vcpu->vm->arch.counter_start;
	if (mechanism(vcpu) == MECHANISM_NV2)
		WRITE(VNCR_EL2, nested->own_page);
	load_l1(vcpu);
}
