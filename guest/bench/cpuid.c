/* CPUID, leaf 0: an instruction that every hypervisor must emulate. */
#include "bench.h"

TIMED_DECLARE(cpuid);

static struct cpuid_operand operand, control_operand;

static bool init(struct bench_run *run)
{
	operand = control_operand = (struct cpuid_operand){ 0 };
	run->operand = &operand;
	run->control_operand = &control_operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	for (unsigned i = 0; i < sizeof(operand.vendor) - 1; i++)
		if (operand.vendor[i] < ' ' || operand.vendor[i] > '~') {
			bench_note(run, "the vendor's name is not text");
			return CHECK_FAILED;
		}
	bench_note(run, "the CPU says \"%s\"; only the host can count exits", operand.vendor);
	return CHECK_UNPROVEN;
}

BENCHMARK(cpuid) = {
	.name = "cpuid",
	.category = "exception",
	.summary = "ask the CPU for its vendor (CPUID, leaf 0)",
	.requires = "",
	.init = init,
	.run = cpuid_run,
	.control = cpuid_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 1000,
	.max_iterations = 1000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
