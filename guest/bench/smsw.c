/* SMSW: stores the low 16 bits of CR0 to memory. */
#include "bench.h"

TIMED_LOOP(smsw, OP_STORE_MSW);

static uint16_t stored;

static bool init(struct bench_run *run)
{
	stored = 0;
	run->operand = &stored;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint16_t own = (uint16_t)cpu_msw();

	if (stored != own) {
		bench_note(run, "stored %x, but CR0 begins with %x", stored, own);
		return CHECK_FAILED;
	}
	bench_note(run, "the stored word is CR0's low half");
	return CHECK_PROVED;
}

BENCHMARK(smsw) = {
	.name = "smsw",
	.category = "unprivileged",
	.summary = "store the low 16 bits of CR0 to memory (unprivileged, sensitive)",
	.requires = "",
	.init = init,
	.run = smsw_run,
	.control = smsw_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
