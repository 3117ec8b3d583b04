/* Exceptions for EL1; see inject.h. Pure. */
#include "vm/inject.h"

#include "cpu/bits.h"

#define PSTATE_KEPT (PSTATE_NZCV | PSTATE_DIT)

#define EC_SAME_LEVEL 1 /* an abort's class from EL1 itself is one more than from EL0 */

struct injected inject_synchronous(uint64_t vbar, uint64_t pstate, bool has_pan, bool span)
{
	uint64_t mode = pstate & PSTATE_MODE;
	uint64_t offset = mode == PSTATE_EL0T	? VECTOR_LOWER
			  : mode == PSTATE_EL1T ? VECTOR_SAME_SP0
						: VECTOR_SAME_SPX;
	uint64_t pan = has_pan ? (span ? pstate & PSTATE_PAN : PSTATE_PAN) : 0;

	return (struct injected){ .pc = vbar + offset,
				  .pstate = (pstate & PSTATE_KEPT) | pan | PSTATE_DAIF |
					    PSTATE_EL1H };
}

uint64_t inject_external_abort(uint64_t esr, uint64_t pstate)
{
	uint64_t class = esr >> ESR_CLASS_SHIFT & ESR_CLASS_MASK;

	if ((pstate & PSTATE_MODE) != PSTATE_EL0T)
		class += EC_SAME_LEVEL;
	return class << ESR_CLASS_SHIFT | ESR_LENGTH_32 | (esr & ABORT_WRITE) | STATUS_EXTERNAL;
}

uint64_t inject_undefined(uint64_t esr)
{
	return (uint64_t)EC_UNKNOWN << ESR_CLASS_SHIFT | (esr & ESR_LENGTH_32);
}
