/* Model-specific registers: TSC_ADJUST, read and written, and the kernel's GS base. Three rows:
 * kvm-unit-tests' rd_tsc_adjust_msr, wr_tsc_adjust_msr and wr_kernel_gs_base. */
#include "exit_row.h"
#include <arch/timed_exits.h>

TIMED_READ_MSR(msr_read);
TIMED_WRITE_MSR(msr_write);

static struct exit_operand operand;

static const char *needs_adjust(const struct params *params)
{
	(void)params;
	return cpu_has_tsc_adjust() ? NULL : "this CPU has no TSC_ADJUST (CPUID, leaf 7)";
}

/* The written value is the current one. */
static bool prepare(struct bench_run *run, uint64_t number)
{
	operand.number = number;
	msr_read_run(1, &operand);
	run->operand = &operand;
	return true;
}

static bool init_adjust(struct bench_run *run)
{
	return prepare(run, MSR_NUMBER_TSC_ADJUST);
}

static bool init_gs_base(struct bench_run *run)
{
	return prepare(run, MSR_NUMBER_KERNEL_GS_BASE);
}

static enum check check(struct bench_run *run)
{
	uint64_t value = operand.value;

	msr_read_run(1, &operand);
	bench_note(run, "the register reads as %lx; only the host can count exits", operand.value);
	return operand.value == value ? CHECK_UNPROVEN : CHECK_FAILED;
}

EXIT_ROW(adjust_read, "tsc-adjust-read", "privileged", "read the MSR TSC_ADJUST",
	 "a CPU with TSC_ADJUST", needs_adjust, init_adjust, check, msr_read, 0);
EXIT_ROW(adjust_write, "tsc-adjust-write", "privileged", "write the MSR TSC_ADJUST",
	 "a CPU with TSC_ADJUST", needs_adjust, init_adjust, check, msr_write, 0);
EXIT_ROW(gs_base, "write-gs-base", "privileged", "write the MSR of the kernel's GS base", "", NULL,
	 init_gs_base, check, msr_write, 0);
