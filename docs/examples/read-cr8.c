/* CR8, the CPU's task priority: an exit where no hardware keeps it for the guest. An example
 * (CONTRIBUTING.md). */
#include "bench.h"

/* The result is kept behind the loop, so only the read itself is counted. */
TIMED_PAIR(read_cr8, "", "", "mov %cr8, %rax", "mov %rax, (%rsi)");

static uint64_t priority, unused;

static bool init(struct bench_run *run)
{
	priority = UINT64_MAX;
	run->operand = &priority;
	run->control_operand = &unused;
	return true;
}

static enum check check(struct bench_run *run)
{
	if (priority > 15)
		return CHECK_FAILED;
	bench_note(run, "the priority is %lu; only the host can count exits", priority);
	return CHECK_UNPROVEN;
}

BENCHMARK(read_cr8) = {
	.name = "read-cr8",
	.category = "privileged",
	.summary = "ask the CPU for its task priority (CR8)",
	.requires = "",
	.init = init,
	.run = read_cr8_run,
	.control = read_cr8_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 1000,
	.max_iterations = 1000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
