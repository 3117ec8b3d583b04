/* The table of system registers, and what needs no hardware to be said of them; see registers.h. Pure.
 * Called by sysreg.c and counts.c. */
#include "registers.h"

#define EL0_AND_EL1_AARCH64 0x11u /* of ID_AA64PFR0_EL1: no AArch32 */
#define PHYSICAL_BITS_36    1u	  /* of ID_AA64MMFR0_EL1.PARange */

const struct register_row register_rows[REGISTER_COUNT] = {
#define ROW(name, op0, op1, n, m, op2, class, mask) \
	[REG_##name] = { #name, ENCODING(op0##u, op1##u, n##u, m##u, op2##u), CLASS_##class, mask },
	REGISTERS(ROW)
#undef ROW
};

enum register_number register_find(uint32_t encoding)
{
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		if (register_rows[i].encoding == encoding)
			return (enum register_number)i;
	return REG_NONE;
}

bool register_identifies(uint32_t encoding)
{
	unsigned m = encoding >> 1 & 15;

	return (encoding & ~(ENCODING(0u, 0u, 0u, 15u, 7u))) == ENCODING(3u, 0u, 0u, 0u, 0u) &&
	       m >= 1 && m <= 7;
}

uint64_t register_identity(enum register_number number, uint64_t own)
{
	uint64_t value = own & register_rows[number].mask;

	if (number == REG_ID_AA64PFR0_EL1)
		value |= EL0_AND_EL1_AARCH64;
	if (number == REG_ID_AA64MMFR0_EL1)
		value |= (own & 15) < PHYSICAL_BITS_36 ? own & 15 : PHYSICAL_BITS_36;
	return value;
}
