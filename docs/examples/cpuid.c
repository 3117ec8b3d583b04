/* CPUID, leaf 0: an exit that every hypervisor answers. An example (CONTRIBUTING.md). */
#include "bench.h"

/* rbx is the caller's: kept in r8. `each` is in both loops, so only CPUID itself is counted. */
TIMED_PAIR(cpuid, "mov %rbx, %r8", "xor %eax, %eax\n\txor %ecx, %ecx", "cpuid",
	   "mov %ebx, (%rsi)\n\tmov %edx, 4(%rsi)\n\tmov %ecx, 8(%rsi)\n\tmov %r8, %rbx");

static char vendor[13], unused[12];

static bool init(struct bench_run *run)
{
	run->operand = vendor;
	run->control_operand = unused;
	return true;
}

static enum check check(struct bench_run *run)
{
	for (unsigned i = 0; i < 12; i++)
		if (vendor[i] < ' ' || vendor[i] > '~')
			return CHECK_FAILED;
	bench_note(run, "the CPU says \"%s\"; only the host can count exits", vendor);
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
