/* Emulates a guest hypervisor's instructions that trap or call, by the table of registers
 * (cpu/registers.h); see nested.h. */
#include "core/arch.h"
#include "cpu/accessors.h"
#include "cpu/cpu.h"
#include "cpu/debug.h"
#include "cpu/hardware.h"
#include "gic/gic.h"
#include "nested/gic_switch.h"
#include "nested/nested.h"
#include "nested/timers.h"
#include "vm/vcpu.h"

#define SRE_ALL (ICC_SRE_SRE | ICC_SRE_DFB | ICC_SRE_DIB | ICC_SRE_ENABLE)

static uint64_t *slot(struct nested *nested, enum register_number number)
{
	const struct register_row *row = &register_rows[number];

	return (uint64_t *)&nested->page[REGISTER_OFFSET(row->page, (unsigned)number) / 8];
}

/* ---- Registers that are in the hardware ----------------------------------------------------- */

/* The hardware register that holds virtual EL2's, without and with VHE; 0: only the page has it. */
#define ROW(name)      [REG_##name##_EL2] = REG_##name##_EL1,
#define TIMER(own, to) [REG_##own##_EL2] = REG_##to##_EL0,
static const uint8_t in_hardware[2][REGISTER_COUNT] = {
	{ REDIRECTED(ROW) },
	{ REDIRECTED(ROW) REDIRECTED_VHE(ROW)[REG_CPTR_EL2] = REG_CPACR_EL1,
	  TIMER(CNTHP_TVAL, CNTP_TVAL) TIMER(CNTHP_CTL, CNTP_CTL) TIMER(CNTHP_CVAL, CNTP_CVAL)
		  TIMER(CNTHV_TVAL, CNTV_TVAL) TIMER(CNTHV_CTL, CNTV_CTL)
			  TIMER(CNTHV_CVAL, CNTV_CVAL) },
};
#undef ROW
#undef TIMER

static enum register_number find_hardware(const struct vcpu *vcpu, enum register_number number)
{
	if (number >= REG_CNTHP_TVAL_EL2 && number <= REG_CNTHV_CVAL_EL2 &&
	    !vcpu->vm->arch.timers_swap)
		return number <= REG_CNTHP_CVAL_EL2 ? number : (enum register_number)0;
	return in_hardware[is_vhe(vcpu)][number];
}

/* After an exception that virtual EL2 took from itself, EL1's register may say EL1 instead of EL2. */
static uint64_t read_spsr(const struct vcpu *vcpu)
{
	const struct nested *nested = &vcpu->arch.nested;
	uint64_t spsr = READ(SPSR_EL1);

	if (nested_tracks(vcpu) && (spsr & PSTATE_LEVEL) == LEVEL_EL1 &&
	    (spsr != nested->set_spsr || READ(ELR_EL1) != nested->set_elr))
		spsr ^= LEVEL_EL1 | LEVEL_EL2;
	return spsr;
}

static uint64_t read_one(struct vcpu *vcpu, enum register_number number)
{
	struct nested *nested = &vcpu->arch.nested;
	enum register_number hardware = find_hardware(vcpu, number);

	switch (number) {
	case REG_SPSR_EL2:
		return read_spsr(vcpu);
	case REG_ICC_SRE_EL2:
		return SRE_ALL;
	case REG_ICH_VTR_EL2:
		return READ(ICH_VTR_EL2);
	case REG_ICH_MISR_EL2:
	case REG_ICH_EISR_EL2:
	case REG_ICH_ELRSR_EL2:
		return nested_ich_status(vcpu, number);
	default:
		return hardware ? hardware_read(hardware) : *slot(nested, number);
	}
}

/* Takes over a paravirtual hypervisor's own deferred page: copies ours into it, and uses it from then on. */
static void take_page(struct vcpu *vcpu, uint64_t ipa)
{
	struct nested *nested = &vcpu->arch.nested;
	uint64_t bytes, *page = NULL;

	lock_take(&vcpu->vm->lock);
	if (!(ipa & (PAGE_BYTES - 1)))
		page = (uint64_t *)arch_guest_memory(vcpu->vm, ipa, &bytes);
	lock_release(&vcpu->vm->lock);
	if (!page) {
		nested_stop(vcpu, "its deferred page, 0x%lx, is no page of its memory", ipa);
		return;
	}
	__builtin_memcpy(page, (const void *)nested->page, PAGE_BYTES);
	nested->page = page;
}

static void write_one(struct vcpu *vcpu, enum register_number number, uint64_t value)
{
	struct nested *nested = &vcpu->arch.nested;
	enum register_number hardware = find_hardware(vcpu, number);
	bool vhe = is_vhe(vcpu);

	if (hardware)
		hardware_write(hardware, value);
	if (number == REG_SPSR_EL2)
		nested->set_spsr = value;
	if (number == REG_ELR_EL2)
		nested->set_elr = value;
	if (number == REG_VNCR_EL2 && mechanism(vcpu) == MECHANISM_NEVE) {
		take_page(vcpu, value);
		return;
	}
	if (number == REG_HCR_EL2) /* E2H is fixed, by vhe= */
		value = (value & ~HCR_E2H) | (vhe ? HCR_E2H : 0);
	*slot(nested, number) = value;
	if (number == REG_CPTR_EL2)
		WRITE(CPACR_EL1, nested_cpacr(vcpu));
	if (number == REG_MDSCR_EL1)
		nested_set_mdscr(vcpu);
	if (number >= REG_ICH_HCR_EL2 && number <= REG_ICH_LR15_EL2)
		nested_ich_copy_status(vcpu, number);
	if (vhe)
		return;
	/* Registers with another format at EL1. */
	if (number == REG_SCTLR_EL2)
		WRITE(SCTLR_EL1, nested_sctlr(vcpu));
	else if (number == REG_TCR_EL2)
		WRITE(TCR_EL1, nested_tcr(vcpu));
	else if (number == REG_TTBR0_EL2)
		WRITE(TTBR0_EL1, value);
	else if (number == REG_CNTVOFF_EL2)
		WRITE(CNTVOFF_EL2, value);
}

/* Is it a register of virtual EL2, or of L2's EL1? */
static bool is_nest(enum register_number number)
{
	return number != REG_NONE && register_rows[number].nest != NEST_DIRECT;
}

static void access(struct vcpu *vcpu, enum register_number number, unsigned rt, bool read)
{
	uint64_t *x = vcpu->arch.context.x;

	vcpu_count(vcpu, CAUSE_REGISTERS + 2 * (unsigned)number + !read);
	if (!read)
		write_one(vcpu, number, rt == XZR ? 0 : x[rt]);
	else if (rt != XZR)
		x[rt] = read_one(vcpu, number);
}

static void access_debug(struct vcpu *vcpu, uint32_t encoding, unsigned rt, bool read)
{
	uint64_t *x = vcpu->arch.context.x;

	vcpu_count(vcpu, CAUSE_REGISTERS + 2 * (unsigned)REG_NONE + !read);
	if (!read)
		debug_write(encoding, rt == XZR ? 0 : x[rt]);
	else if (rt != XZR)
		x[rt] = debug_read(encoding);
}

static void invalidate(struct vcpu *vcpu, unsigned op1, unsigned m, unsigned op2, unsigned rt)
{
	unsigned concerns = !op1 && is_host(vcpu) ? TLBI_EL2 : tlbi_concerns(op1, m, op2);

	vcpu_count(vcpu, CAUSE_TLBI);
	nested_invalidate(vcpu, concerns, rt == XZR ? 0 : vcpu->arch.context.x[rt]);
}

/* SYS instructions by CRn. */
#define SYS_OP0	  1
#define TLBI_CRN  8
#define AT_CRN	  7
#define AT_CRM	  8 /* one more with PAN */
#define AT_WRITES 1 /* of op2 */
#define AT_STAGE2 4 /* of op2, with op1 4 */

/* AT. Returns false for an instruction that is none that we know. */
static bool translate(struct vcpu *vcpu, unsigned op1, unsigned m, unsigned op2, unsigned rt)
{
	enum at_stages stages = op1 == 0 ? AT_STAGE_1 : op2 & AT_STAGE2 ? AT_STAGES_1_2 : AT_EL2;
	bool known = op1 == 0 ? (m & ~1u) == AT_CRM
			      : op1 == 4 && m == AT_CRM && (op2 & AT_STAGE2 || op2 <= AT_WRITES);

	if (known)
		nested_translate(vcpu, stages, rt == XZR ? 0 : vcpu->arch.context.x[rt],
				 op2 & AT_WRITES);
	return known;
}

bool nested_register(struct vcpu *vcpu, uint64_t esr)
{
	uint32_t encoding = (uint32_t)esr & ENCODING_MASK;
	enum register_number number = register_find(encoding);
	unsigned rt = esr >> ISS_RT & 31, op1 = ENCODED_OP1(esr), m = ENCODED_CRM(esr);
	unsigned op2 = ENCODED_OP2(esr);
	bool is_sys = ENCODED_OP0(esr) == SYS_OP0 && !(esr & ISS_READ);
	unsigned instruction = is_sys ? ENCODED_CRN(esr) : 0;

	if (is_nest(number))
		access(vcpu, number, rt, esr & ISS_READ);
	else if (register_debugs(encoding, READ_REGISTER(id_aa64dfr0_el1)))
		access_debug(vcpu, encoding, rt, esr & ISS_READ);
	else if (instruction == TLBI_CRN)
		invalidate(vcpu, op1, m, op2, rt);
	else if (instruction != AT_CRN || !translate(vcpu, op1, m, op2, rt))
		return false;
	vcpu->arch.context.pc += 4;
	return true;
}

bool nested_call(struct vcpu *vcpu, unsigned immediate)
{
	unsigned number = immediate >> CALL_NUMBER & 0xff, rt = immediate & 31;

	if (mechanism(vcpu) != MECHANISM_PV && mechanism(vcpu) != MECHANISM_NEVE)
		return false;
	if (immediate == CALL_ERET) {
		vcpu_count(vcpu, CAUSE_ERET);
		nested_eret(vcpu, 0);
	} else if (number >= CALL_TLBI) {
		invalidate(vcpu, (number >> 6 & 1) * 4, number >> 3 & 7, number & 7, rt);
	} else if (number < REGISTER_COUNT && is_nest((enum register_number)number)) {
		access(vcpu, (enum register_number)number, rt, !(immediate & CALL_WRITE));
	} else {
		return false;
	}
	return true;
}
