/*
 * The world switch of Linux 4.10's KVM, register access by register access: that of the paper's guest
 * hypervisor (Lim et al., sections 5 to 7). Functions and their order are those of Linux v4.10,
 * arch/arm64/kvm/hyp/: hyp-entry.S (el1_sync), entry.S (__guest_enter, __guest_exit), switch.c
 * (__kvm_vcpu_run and what it calls), sysreg-sr.c; virt/kvm/arm/hyp/: timer-sr.c, vgic-v2-sr.c,
 * vgic-v3-sr.c. Values that are read and not used are read by Linux too.
 *
 * Left out are paths that a 64-bit guest never takes if it is not debugged and has no read-only memory.
 * The guest's first floating-point access is an ordinary exit here; Linux handles it within el1_sync.
 *
 * Without VHE the hypervisor is split: the host half runs at EL1 and calls the half at EL2 to enter its
 * guest. Here the host half is two instructions long: handling an exit at EL1 causes no traps, so it is
 * done at EL2.
 */
#include "kvm410/kvm410.h"

#include "cpu/accessors.h"
#include "gic/gic.h"
#include "gic/ich.h"
#include "machine/machine.h"
#include "vm/vcpu.h"

/* Values that Linux writes, by its names. */
#define PMUSERENR_MASK	 (PMUSERENR_EN | PMUSERENR_SW | PMUSERENR_CR | PMUSERENR_ER)
#define CPTR_EL2_DEFAULT (CPTR_RES1 | CPTR_TZ | CPTR_TSM)
#define HCR_INT_OVERRIDE (HCR_FMO | HCR_IMO)

void kvm410_host_half(void);

/* By its EL2 name, as in Linux' source, also with VHE. */
#if PARAVIRT == PARAVIRT_none
#define READ_LITERAL(name, REG) READ_REGISTER(name)
#elif PARAVIRT == PARAVIRT_calls
#define READ_LITERAL(name, REG) CALL_READ(REG_##REG)
#else
#define READ_LITERAL(name, REG) READ(REG)
#endif

/* ---- Variants of the policy -------------------------------------------------------------------- */

static bool has_timer(const struct vcpu *vcpu)
{
	return vcpu->vm->config->policy < POLICY_KVM_NO_TIMER;
}

/* The tree of the paper's authors (github.com/columbia/nesting-pub) lacks two fixes: it does not write
 * PMSELR_EL0 (hyp/switch.c), and it accesses CNTHCTL_EL2 with VHE too (hyp/timer-sr.c). */
static bool is_authors(const struct vcpu *vcpu)
{
	return vcpu->vm->config->policy == POLICY_KVM_AUTHORS;
}

static bool is_gicv3(const struct vcpu *vcpu)
{
	return vcpu->vm->config->policy == POLICY_KVM_GICV3 ||
	       vcpu->vm->config->policy == POLICY_KVM_GICV3_NO_TIMER;
}

/* ---- sysreg-sr.c ------------------------------------------------------------------------------ */

/* Registers of __sysreg_save_state() and __sysreg_restore_state(), in their order. */
#define EL1_STATE(ROW)      \
	ROW(CSSELR_EL1)     \
	ROW(SCTLR_EL1)      \
	ROW(CPACR_EL1)      \
	ROW(TTBR0_EL1)      \
	ROW(TTBR1_EL1)      \
	ROW(TCR_EL1)        \
	ROW(ESR_EL1)        \
	ROW(AFSR0_EL1)      \
	ROW(AFSR1_EL1)      \
	ROW(FAR_EL1)        \
	ROW(MAIR_EL1)       \
	ROW(VBAR_EL1)       \
	ROW(CONTEXTIDR_EL1) \
	ROW(AMAIR_EL1)      \
	ROW(CNTKCTL_EL1)    \
	ROW(PAR_EL1)        \
	ROW(SP_EL1)         \
	ROW(ELR_EL1)        \
	ROW(SPSR_EL1)

/* Registers of __sysreg_save_common_state(), except PC and PSTATE. */
#define COMMON_STATE(ROW) \
	ROW(ACTLR_EL1)    \
	ROW(TPIDR_EL0)    \
	ROW(TPIDRRO_EL0)  \
	ROW(TPIDR_EL1)    \
	ROW(MDSCR_EL1)    \
	ROW(SP_EL0)

static void sysreg_save_state(struct kvm410_context *to)
{
	to->value[REG_VMPIDR_EL2] = READ(VMPIDR_EL2);
#define ROW(name) to->value[REG_##name] = READ(name);
	EL1_STATE(ROW)
#undef ROW
}

static void sysreg_restore_state(const struct kvm410_context *from)
{
	WRITE(VMPIDR_EL2, from->value[REG_VMPIDR_EL2]);
#define ROW(name) WRITE(name, from->value[REG_##name]);
	EL1_STATE(ROW)
#undef ROW
}

static void sysreg_save_common(struct kvm410_context *to)
{
#define ROW(name) to->value[REG_##name] = READ(name);
	COMMON_STATE(ROW)
#undef ROW
	to->value[REG_ELR_EL2] = READ(ELR_EL2);
	to->value[REG_SPSR_EL2] = READ(SPSR_EL2);
}

static void sysreg_restore_common(const struct kvm410_context *from)
{
#define ROW(name) WRITE(name, from->value[REG_##name]);
	COMMON_STATE(ROW)
#undef ROW
	WRITE(ELR_EL2, from->value[REG_ELR_EL2]);
	WRITE(SPSR_EL2, from->value[REG_SPSR_EL2]);
}

/* ---- switch.c: traps -------------------------------------------------------------------------- */

static void activate_traps(struct vcpu *vcpu)
{
	bool fp = vcpu->arch.kvm410.let_fp;

	WRITE(HCR_EL2, HCR_GUEST & ~HCR_INT_OVERRIDE);
	WRITE(HSTR_EL2, HSTR_T15);
	if (!is_authors(vcpu))
		WRITE(PMSELR_EL0, 0);
	WRITE(PMUSERENR_EL0, PMUSERENR_MASK);
	WRITE(MDCR_EL2, MDCR_GUEST);
#if VHE
	WRITE_REGISTER(cpacr_el1, (READ_REGISTER(cpacr_el1) | CPACR_TTA | CPACR_FPEN) &
					  ~(fp ? 0 : CPACR_FPEN));
	WRITE(VBAR_EL2, (uint64_t)vectors);
#else
	WRITE(CPTR_EL2, CPTR_GUEST | (fp ? 0 : CPTR_TFP));
#endif
}

static void deactivate_traps(void)
{
#if VHE
	WRITE(HCR_EL2, HCR_RW | HCR_TGE | HCR_E2H);
	WRITE_REGISTER(cpacr_el1, CPACR_FPEN);
	WRITE(VBAR_EL2, (uint64_t)vectors);
#else
	WRITE(HCR_EL2, HCR_RW);
	WRITE(CPTR_EL2, CPTR_EL2_DEFAULT);
#endif
	WRITE(HSTR_EL2, 0);
	WRITE(MDCR_EL2, READ(MDCR_EL2) & MDCR_HPMN);
	WRITE(PMUSERENR_EL0, 0);
}

/* ---- timer-sr.c ------------------------------------------------------------------------------- */

static void timer_restore_state(struct vcpu *vcpu)
{
	const struct kvm410_context *guest = &vcpu->arch.kvm410.guest;

	if (!VHE || is_authors(vcpu)) /* the physical timer traps, its counter does not */
		WRITE(CNTHCTL_EL2, (READ(CNTHCTL_EL2) & ~CNTHCTL_EL1PCEN) | CNTHCTL_EL1PCTEN);
	if (!has_timer(vcpu))
		return;
	WRITE(CNTVOFF_EL2, vcpu->vm->arch.counter_start);
	WRITE(CNTV_CVAL_EL0, guest->value[REG_CNTV_CVAL_EL0]);
	instruction_barrier();
	WRITE(CNTV_CTL_EL0, guest->value[REG_CNTV_CTL_EL0]);
}

static void timer_save_state(struct vcpu *vcpu)
{
	struct kvm410_context *guest = &vcpu->arch.kvm410.guest;

	if (has_timer(vcpu)) {
		guest->value[REG_CNTV_CTL_EL0] = READ(CNTV_CTL_EL0);
		guest->value[REG_CNTV_CVAL_EL0] = READ(CNTV_CVAL_EL0);
	}
	WRITE(CNTV_CTL_EL0, 0);
	if (!VHE || is_authors(vcpu))
		WRITE(CNTHCTL_EL2, READ(CNTHCTL_EL2) | CNTHCTL_EL1PCEN | CNTHCTL_EL1PCTEN);
	WRITE(CNTVOFF_EL2, 0);
}

/* ---- vgic-v2-sr.c, vgic-v3-sr.c --------------------------------------------------------------- */

/* A GICv2's interface is memory-mapped, with other names: here ICH_x_EL2 replaces GICH_x, and
 * ICH_AP1R0_EL2 replaces GICH_APR. */

/* List registers that hold an interrupt. */
static uint32_t live_lrs(const struct vcpu *vcpu)
{
	uint32_t live = 0;

	for (unsigned i = 0; i < vcpu->arch.lists.count; i++)
		if (vcpu->arch.lists.lr[i] & (ICH_LR_PENDING | ICH_LR_ACTIVE))
			live |= 1u << i;
	return live;
}

static void restore_lrs(const struct vcpu *vcpu, uint32_t live)
{
	for (unsigned i = 0; i < vcpu->arch.lists.count; i++)
		if (live >> i & 1)
			ich_write_lr(i, vcpu->arch.lists.lr[i]);
}

static void save_lrs(struct vcpu *vcpu, uint32_t live, uint64_t empty)
{
	for (unsigned i = 0; i < vcpu->arch.lists.count; i++) {
		uint64_t *lr = &vcpu->arch.lists.lr[i];

		if (!(live >> i & 1))
			continue;
		*lr = empty >> i & 1 ? *lr & ~(ICH_LR_PENDING | ICH_LR_ACTIVE) : ich_read_lr(i);
		ich_write_lr(i, 0);
	}
}

static void save_maint_int_state(const struct vcpu *vcpu, uint32_t live)
{
	bool expected = vcpu->arch.ich_hcr & ICH_HCR_UIE;

	for (unsigned i = 0; i < vcpu->arch.lists.count; i++)
		if (live >> i & 1 &&
		    (vcpu->arch.lists.lr[i] & (ICH_LR_HW | ICH_LR_EOI)) == ICH_LR_EOI)
			expected = true;
	if (expected && READ(ICH_MISR_EL2) & ICH_MISR_EOI)
		(void)READ(ICH_EISR_EL2);
}

static void vgic_v2_restore_state(struct vcpu *vcpu)
{
	const struct ich_state *interface = &vcpu->arch.interface;
	uint32_t live = live_lrs(vcpu);

	if (live) {
		WRITE(ICH_HCR_EL2, vcpu->arch.ich_hcr);
		WRITE(ICH_AP1R0_EL2, interface->active[4]);
		restore_lrs(vcpu, live);
	}
	WRITE(ICH_VMCR_EL2, interface->control);
}

static void vgic_v2_save_state(struct vcpu *vcpu)
{
	struct ich_state *interface = &vcpu->arch.interface;
	uint32_t live = live_lrs(vcpu);

	interface->control = READ(ICH_VMCR_EL2);
	if (!live)
		return;
	interface->active[4] = READ(ICH_AP1R0_EL2);
	save_maint_int_state(vcpu, live);
	save_lrs(vcpu, live, READ(ICH_ELRSR_EL2));
	WRITE(ICH_HCR_EL2, 0);
}

static void vgic_v3_restore_state(struct vcpu *vcpu)
{
	const struct ich_state *interface = &vcpu->arch.interface;
	uint32_t live = live_lrs(vcpu);

	(void)READ(ICH_VTR_EL2);
	WRITE(ICH_VMCR_EL2, interface->control);
	if (live) {
		WRITE(ICH_HCR_EL2, vcpu->arch.ich_hcr);
		ich_load_active(interface);
		restore_lrs(vcpu, live);
	}
	WRITE(ICC_SRE_EL2, READ(ICC_SRE_EL2) & ~ICC_SRE_ENABLE);
}

static void vgic_v3_save_state(struct vcpu *vcpu)
{
	struct ich_state *interface = &vcpu->arch.interface;
	uint32_t live = live_lrs(vcpu);
	uint64_t empty;

	interface->control = READ(ICH_VMCR_EL2);
	if (live) {
		empty = READ(ICH_ELRSR_EL2);
		WRITE(ICH_HCR_EL2, 0);
		(void)READ(ICH_VTR_EL2);
		save_maint_int_state(vcpu, live);
		save_lrs(vcpu, live, empty);
		ich_save_active(interface);
	}
	WRITE(ICC_SRE_EL2, READ(ICC_SRE_EL2) | ICC_SRE_ENABLE);
}

/* ---- switch.c, entry.S: the switch ------------------------------------------------------------- */

/* The host half calls: __kvm_call_hyp(__kvm_vcpu_run), by HVC without VHE. */
static void kvm_call_hyp(struct vcpu *vcpu)
{
#if VHE
	(void)vcpu;
#else
	context_enter(&vcpu->arch.host_context);
	(void)READ(ESR_EL2);
	(void)READ(VTTBR_EL2);
#endif
}

/* el1_sync, __guest_exit, __populate_fault_info. */
static void see_exit(struct vcpu *vcpu, unsigned how)
{
	uint64_t esr;

	if (how == LEFT_SYNCHRONOUS) {
		esr = READ(ESR_EL2);
		if (esr >> ESR_CLASS_SHIFT == EC_HVC)
			(void)READ(VTTBR_EL2);
	}
	(void)READ(TPIDR_EL2);
	(void)READ_LITERAL(elr_el2, ELR_EL2);
	(void)READ_LITERAL(esr_el2, ESR_EL2);
	(void)READ_LITERAL(spsr_el2, SPSR_EL2);
	if (how != LEFT_SYNCHRONOUS)
		return;
	vcpu_see_exit(vcpu);
}

/* __kvm_vcpu_run up to __guest_enter. */
static void load_guest(struct vcpu *vcpu)
{
	struct kvm410_state *state = &vcpu->arch.kvm410;

	WRITE(TPIDR_EL2, (uint64_t)vcpu);
	if (!VHE)
		sysreg_save_state(&state->host);
	sysreg_save_common(&state->host);

	/* The guest's traps and stage 2. */
	activate_traps(vcpu);
	WRITE(VTTBR_EL2, vcpu->vm->arch.vttbr);

	/* Its interrupts and timer. */
	WRITE(HCR_EL2, READ(HCR_EL2) | HCR_INT_OVERRIDE);
	if (is_gicv3(vcpu))
		vgic_v3_restore_state(vcpu);
	else
		vgic_v2_restore_state(vcpu);
	timer_restore_state(vcpu);

	/* Its EL1. */
	(void)READ(HCR_EL2); /* __sysreg32_restore_state: is it 32-bit? */
	sysreg_restore_state(&state->guest);
	sysreg_restore_common(&state->guest);
}

/* ... and after __guest_exit, from __fpsimd_enabled() on. */
static void save_guest(struct vcpu *vcpu)
{
	struct kvm410_state *state = &vcpu->arch.kvm410;

	/* Did it use floating point? */
#if VHE
	(void)READ_REGISTER(cpacr_el1);
#else
	(void)READ(CPTR_EL2);
#endif
	sysreg_save_state(&state->guest);
	sysreg_save_common(&state->guest);
	(void)READ(HCR_EL2); /* __sysreg32_save_state */

	timer_save_state(vcpu);
	if (is_gicv3(vcpu))
		vgic_v3_save_state(vcpu);
	else
		vgic_v2_save_state(vcpu);
	WRITE(HCR_EL2, READ(HCR_EL2) & ~HCR_INT_OVERRIDE);

	/* The host's traps, no stage 2, its EL1. */
	deactivate_traps();
	WRITE(VTTBR_EL2, 0);
	if (!VHE)
		sysreg_restore_state(&state->host);
	sysreg_restore_common(&state->host);
}

unsigned kvm410_enter(struct vcpu *vcpu)
{
	struct kvm410_state *state = &vcpu->arch.kvm410;
	struct context *context = &vcpu->arch.context;
	unsigned how;

	state->guest.value[REG_ELR_EL2] = context->pc;
	state->guest.value[REG_SPSR_EL2] = context->pstate;
	kvm_call_hyp(vcpu);
	load_guest(vcpu);
	how = context_enter(context);
	if (how == LEFT_IRQ)
		gic_acknowledge(vcpu); /* while the timer that may have raised it is still on */
	see_exit(vcpu, how);
	state->let_fp = false;
	save_guest(vcpu);
	context->pc = state->guest.value[REG_ELR_EL2];
	context->pstate = state->guest.value[REG_SPSR_EL2];
	return how;
}

void kvm410_let_fp(struct vcpu *vcpu)
{
	vcpu->arch.kvm410.let_fp = true;
}

void kvm410_reset(struct vcpu *vcpu)
{
	struct kvm410_state *state = &vcpu->arch.kvm410;

	sysreg_save_state(&state->guest);
	sysreg_save_common(&state->guest);
	state->guest.value[REG_CNTV_CTL_EL0] = 0;
	state->guest.value[REG_CNTV_CVAL_EL0] = 0;
	state->host = state->guest;
	WRITE(HCR_EL2, HCR_RW | (VHE ? HCR_E2H | HCR_TGE : 0));
	WRITE(VTTBR_EL2, 0);
	WRITE(ELR_EL2, (uint64_t)kvm410_host_half);
	WRITE(SPSR_EL2, PSTATE_EL1H | PSTATE_DAIF);
}
