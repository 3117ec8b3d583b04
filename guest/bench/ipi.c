/*
 * IPI: an interrupt to another CPU, until its handler's answer is seen. The paper measures it to a halted
 * CPU and gives one figure for a running one (6.3): two rows, one loop.
 */
#include "bench.h"

TIMED_DECLARE(ipi);

#define TARGET 1

static struct ipi_operand operand;

static bool prepare(struct bench_run *run, enum cpu_rest rest)
{
	/* With unit=insns all CPUs share one emulator thread, so waiting must yield. */
	if (!ipi_operand_fill(&operand, TARGET, run->params->unit == UNIT_INSNS) ||
	    !cpu_set_rest(TARGET, rest)) {
		run->reason = "the second CPU does not answer";
		return false;
	}
	ipi_reset_counts();
	run->operand = &operand;
	return true;
}

static bool init_halted(struct bench_run *run)
{
	return prepare(run, CPU_HALTED);
}

static bool init_running(struct bench_run *run)
{
	return prepare(run, CPU_RUNNING);
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

static enum check check_halted(struct bench_run *run)
{
	return judge(run, ipi_counts().found_halted, "halted");
}

static enum check check_running(struct bench_run *run)
{
	return judge(run, ipi_counts().found_running, "running");
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	cpu_set_rest(TARGET, CPU_HALTED);
}

BENCHMARK(ipi_halted) = {
	.name = "ipi-halted",
	.category = "exception",
	.summary = "interrupt to a halted CPU, until its answer is seen",
	.requires = "two CPUs",
	.init = init_halted,
	.run = ipi_run,
	.control = ipi_control,
	.check = check_halted,
	.cleanup = cleanup,
	.cpus = 2,
	.min_iterations = 1,
	.max_iterations = 1000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = SELF_TIMED,
};

BENCHMARK(ipi_running) = {
	.name = "ipi-running",
	.category = "exception",
	.summary = "interrupt to a running CPU, until its answer is seen",
	.requires = "two CPUs",
	.init = init_running,
	.run = ipi_run,
	.control = ipi_control,
	.check = check_running,
	.cleanup = cleanup,
	.cpus = 2,
	.min_iterations = 1,
	.max_iterations = 1000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = SELF_TIMED,
};
