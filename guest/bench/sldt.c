/* SLDT: stores the LDT selector to memory. */
#include "bench.h"

TIMED_LOOP(sldt, OP_STORE_LDTR);

static uint16_t stored;

static bool init(struct bench_run *run)
{
	cpu_load_ldt(); /* with a selector of 0 the check would prove nothing */
	stored = 0;
	run->operand = &stored;
	return true;
}

static enum check check(struct bench_run *run)
{
	if (stored != cpu_ldt_selector()) {
		bench_note(run, "stored selector %x, loaded was %x", stored, cpu_ldt_selector());
		return CHECK_FAILED;
	}
	bench_note(run, "the stored selector is the one that was loaded");
	return CHECK_PROVED;
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	cpu_unload_ldt();
}

BENCHMARK(sldt) = {
	.name = "sldt",
	.category = "unprivileged",
	.summary = "store the LDT selector to memory (unprivileged, sensitive)",
	.requires = "",
	.init = init,
	.run = sldt_run,
	.control = sldt_control,
	.check = check,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
