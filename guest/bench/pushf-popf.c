/* PUSHF-POPF: reads the flags, including the interrupt mask, and writes them back. */
#include "bench.h"

TIMED_LOOP(pushf_popf, OP_PUSHF_POPF);

static bool init(struct bench_run *run)
{
	run->operand = NULL;
	return true;
}

static enum check check(struct bench_run *run)
{
	if (!cpu_flags_can_be_written()) {
		bench_note(run, "writing the flags did not change one that it may change");
		return CHECK_FAILED;
	}
	bench_note(run, "a flag that is written is the flag that is read");
	return CHECK_PROVED;
}

BENCHMARK(pushf_popf) = {
	.name = "pushf-popf",
	.category = "unprivileged",
	.summary = "read the flags and write them back (unprivileged, sensitive)",
	.requires = "",
	.init = init,
	.run = pushf_popf_run,
	.control = pushf_popf_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
