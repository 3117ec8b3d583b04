/* Rows that send an interrupt to the second CPU; see ipi_row.h. */
#include "ipi_row.h"

bool ipi_row_init(struct bench_run *run, bool filled, enum cpu_rest rest)
{
	if (!filled || !cpu_set_rest(IPI_TARGET, rest)) {
		run->reason = "the second CPU does not answer";
		return false;
	}
	ipi_reset_counts();
	return true;
}

static enum check judge(struct bench_run *run, uint64_t found, const char *state)
{
	struct ipi_counts counts = ipi_counts();

	bench_note(run, "%lu sent, %lu received, %lu of them found the CPU %s", run->total,
		   counts.received, found, state);
	return counts.received == run->total && found + bench_may_miss(run) >= run->total
		       ? CHECK_PROVED
		       : CHECK_FAILED;
}

enum check ipi_row_check_halted(struct bench_run *run)
{
	return judge(run, ipi_counts().found_halted, "halted");
}

enum check ipi_row_check_running(struct bench_run *run)
{
	return judge(run, ipi_counts().found_running, "running");
}

void ipi_row_cleanup(struct bench_run *run)
{
	(void)run;
	cpu_set_rest(IPI_TARGET, CPU_HALTED);
}
