/* TLB Invalidate: drops all of this CPU's cached translations. */
#include "bench.h"

TIMED_DECLARE(tlb_invalidate);

static struct register_operand operand;

static bool init(struct bench_run *run)
{
	operand = cpu_vector_base(); /* for the current exception level */
	run->operand = &operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	bench_note(run, "no instruction shows what the TLB holds; only the host can count exits");
	return CHECK_UNPROVEN;
}

BENCHMARK(tlb_invalidate) = {
	.name = "tlb-invalidate",
	.category = "privileged",
	.summary = "drop all cached translations of this CPU (privileged)",
	.requires = "",
	.init = init,
	.run = tlb_invalidate_run,
	.control = tlb_invalidate_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
