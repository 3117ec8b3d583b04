/* The table of system registers, and functions on it that need no hardware; see registers.h. Pure. */
#include "cpu/registers.h"

/* Values of identification registers' fields. */
#define ONLY_AARCH64	  1ull
#define CSV2_MOST	  1u   /* from 2 on there is SCXTNUM_ELx, which traps */
#define PHYSICAL_BITS_36  1u   /* PARange */
#define PHYSICAL_BITS_40  2u   /* ... for a guest hypervisor: KVM's default for its VMs */
#define TGRAN4_LPA2	  1u   /* 0: supported without */
#define TGRAN16_PLAIN	  1u   /* 2: with LPA2 */
#define NO_LPA2_AT_STAGE2 2ull /* TGran4_2 */
#define ACCESS_AND_DIRTY  2u   /* HAFDBS; 3 needs TCR2_EL1, which traps */

#define EL0_AND_EL1_AARCH64 (ONLY_AARCH64 << PFR0_EL0 | ONLY_AARCH64 << PFR0_EL1)

const struct register_row register_rows[REGISTER_COUNT] = {
#define ROW(name, op0, op1, n, m, op2, class, mask, nest, page)                       \
	[REG_##name] = { #name,		ENCODING(op0##u, op1##u, n##u, m##u, op2##u), \
			 CLASS_##class, mask,                                         \
			 NEST_##nest,	page },
	REGISTERS(ROW)
#undef ROW
};

/* Row number + 1 by encoding (low bit of op0, op1, CRn, CRm, op2); 0: no row. */
#define KEY(op0, op1, n, m, op2) (((op0)&1) << 14 | (op1) << 11 | (n) << 7 | (m) << 3 | (op2))
static const uint8_t by_key[1 << 15] = {
#define ROW(name, op0, op1, n, m, op2, ...) [KEY(op0, op1, n, m, op2)] = REG_##name + 1,
	REGISTERS(ROW)
#undef ROW
};

enum register_number register_find(uint32_t encoding)
{
	unsigned op0 = ENCODED_OP0(encoding), op1 = ENCODED_OP1(encoding);
	unsigned n = ENCODED_CRN(encoding), m = ENCODED_CRM(encoding);
	unsigned op2 = ENCODED_OP2(encoding), found;

	if (op0 < 2)
		return REG_NONE;
	if (op1 == 5) /* VHE names: CNTKCTL_EL12 is of EL1, timers are of EL0 */
		op1 = n == 14 && m != 1 ? 3 : 0;
	found = by_key[KEY(op0, op1, n, m, op2)];
	return found ? (enum register_number)(found - 1) : REG_NONE;
}

bool register_identifies(uint32_t encoding)
{
	unsigned m = ENCODED_CRM(encoding);

	return (encoding & ~(ENCODING(0u, 0u, 0u, 15u, 7u))) == ENCODING(3u, 0u, 0u, 0u, 0u) &&
	       m >= 1 && m <= 7;
}

bool register_debugs(uint32_t encoding, uint64_t dfr0)
{
	unsigned op1 = ENCODED_OP1(encoding), n = ENCODED_CRN(encoding);
	unsigned m = ENCODED_CRM(encoding), op2 = ENCODED_OP2(encoding);

	if (ENCODED_OP0(encoding) != 2)
		return false;
	if (op1 == 0 && n == 0 && op2 >= 4) /* breakpoints, watchpoints: value and control */
		return m <= (dfr0 >> (op2 < 6 ? DFR0_BRPS : DFR0_WRPS) & 15);
	switch (encoding) {
	case ENCODING(2u, 0u, 0u, 0u, 2u):  /* OSDTRRX_EL1 */
	case ENCODING(2u, 0u, 0u, 2u, 0u):  /* MDCCINT_EL1 */
	case ENCODING(2u, 0u, 0u, 3u, 2u):  /* OSDTRTX_EL1 */
	case ENCODING(2u, 0u, 0u, 6u, 2u):  /* OSECCR_EL1 */
	case ENCODING(2u, 0u, 7u, 8u, 6u):  /* DBGCLAIMSET_EL1 */
	case ENCODING(2u, 0u, 7u, 9u, 6u):  /* DBGCLAIMCLR_EL1 */
	case ENCODING(2u, 0u, 7u, 14u, 6u): /* DBGAUTHSTATUS_EL1 */
	case ENCODING(2u, 3u, 0u, 1u, 0u):  /* MDCCSR_EL0 */
	case ENCODING(2u, 3u, 0u, 4u, 0u):  /* DBGDTR_EL0 */
	case ENCODING(2u, 3u, 0u, 5u, 0u):  /* DBGDTRRX_EL0, DBGDTRTX_EL0 */
		return true;
	default:
		return false;
	}
}

/* Limits one field to what we support: higher values announce features that we do not have. */
static uint64_t at_most(uint64_t most, uint64_t value, unsigned bit)
{
	uint64_t field = value >> bit & 15;

	return (value & ~FIELD(bit)) | (field < most ? field : most) << bit;
}

/* Our walks of a guest hypervisor's tables and of its VM's do not support LPA2. */
static uint64_t without_lpa2(uint64_t value)
{
	if ((value >> MMFR0_TGRAN4 & 15) == TGRAN4_LPA2)
		value &= ~FIELD(MMFR0_TGRAN4);
	value = at_most(TGRAN16_PLAIN, value, MMFR0_TGRAN16);
	return value | NO_LPA2_AT_STAGE2 << MMFR0_TGRAN4_2;
}

uint64_t register_identity(enum register_number number, uint64_t own, enum identity identity,
			   bool vhe)
{
	uint64_t value = own & register_rows[number].mask;
	bool is_vm = identity == IDENTITY_VM;

	if (number == REG_ID_AA64PFR0_EL1)
		value = at_most(CSV2_MOST, value, PFR0_CSV2) | EL0_AND_EL1_AARCH64 |
			(is_vm ? 0 : ONLY_AARCH64 << PFR0_EL2);
	if (number == REG_ID_AA64MMFR0_EL1)
		value = is_vm ? at_most(PHYSICAL_BITS_36, value, MMFR0_PARANGE)
			      : without_lpa2(at_most(PHYSICAL_BITS_40, value, MMFR0_PARANGE));
	if (number == REG_ID_AA64MMFR1_EL1) /* our walk of L1's tables updates no flags */
		value = at_most(is_vm ? ACCESS_AND_DIRTY : 0, value, MMFR1_HAFDBS);
	if (is_vm)
		return value;
	if (number == REG_ID_AA64ISAR0_EL1)
		value &= ~FIELD(ISAR0_TLB); /* no TLBI by range */
	if (number == REG_ID_AA64MMFR1_EL1 && vhe)
		value |= 1ull << MMFR1_VH;
	if (number == REG_ID_AA64MMFR2_EL1)
		value |= (uint64_t)(identity - IDENTITY_EL2) << MMFR2_NV;
	return value;
}

unsigned tlbi_concerns(unsigned op1, unsigned m, unsigned op2)
{
	if (op1 == 0 && (m == 3 || m == 7))
		return TLBI_STAGE1;
	if (op1 == 4 && (m == 0 || m == 4) && (op2 == 1 || op2 == 5))
		return TLBI_ADDRESS;
	if (op1 == 4 && (m == 3 || m == 7)) {
		switch (op2) {
		case 0:
		case 1:
		case 5:
			return TLBI_EL2;
		case 6:
			return TLBI_STAGE1 | TLBI_STAGE2;
		}
	}
	return TLBI_EL2 | TLBI_ALL;
}
