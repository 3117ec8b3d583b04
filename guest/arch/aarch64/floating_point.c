/* Whether the guest's own level may use floating point (fp_registers.S does). */
#include <arch/floating_point.h>
#include <arch/cpu.h>

#define PFR0_FP_SHIFT 16 /* ID_AA64PFR0_EL1, four bits */
#define PFR0_NO_FP    15
#define CPACR_FPEN    (3ull << 20) /* CPACR_EL1, also CPTR_EL2 with E2H: no trap */
#define CPTR_TFP      (1ull << 10) /* CPTR_EL2 without E2H: trap */

static uint64_t before;

const char *fp_begin(void)
{
	if ((READ_REGISTER(id_aa64pfr0_el1) >> PFR0_FP_SHIFT & 15) == PFR0_NO_FP)
		return "this CPU has no floating point";
	if (cpu_level == LEVEL_EL2) {
		before = READ_REGISTER(cptr_el2);
		WRITE_REGISTER(cptr_el2, before & ~CPTR_TFP);
	} else {
		before = READ_REGISTER(cpacr_el1);
		WRITE_REGISTER(cpacr_el1, before | CPACR_FPEN);
	}
	instruction_barrier();
	return NULL;
}

void fp_end(void)
{
	if (cpu_level == LEVEL_EL2)
		WRITE_REGISTER(cptr_el2, before);
	else
		WRITE_REGISTER(cpacr_el1, before);
	instruction_barrier();
}
