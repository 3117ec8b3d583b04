/* Builds exceptions that EL1 takes, as the hardware would (DDI 0487, AArch64.TakeException). Pure. */
#ifndef INJECT_H
#define INJECT_H

#include <stdbool.h>
#include <stdint.h>

struct injected {
	uint64_t pc, pstate;
};

/* From `pstate`, to the synchronous vector of EL1. `span`: SCTLR_EL1.SPAN; `has_pan`: FEAT_PAN. */
struct injected inject_synchronous(uint64_t vbar, uint64_t pstate, bool has_pan, bool span);

/* ESR_EL1 of an external abort, from the syndrome of the original abort. */
uint64_t inject_external_abort(uint64_t esr, uint64_t pstate);

/* ESR_EL1 of an undefined instruction. */
uint64_t inject_undefined(uint64_t esr);

#endif
