/* Set CR3: loads the page-table root (CR3, TTBR0) with the value that it has. */
#include "bench.h"

TIMED_SET_ROOT(set_cr3);

static struct root_operand operand;

static bool init(struct bench_run *run)
{
	operand = cpu_root_operand();
	run->operand = &operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t pa, page_bytes;

	if (!translate((uint64_t)&operand, &pa, &page_bytes) || pa != (uint64_t)&operand) {
		bench_note(run, "the guest's own memory is not mapped 1:1 any more");
		return CHECK_FAILED;
	}
	if (cpu_current_root() != operand.root) {
		bench_note(run, "loaded %lx, found %lx", operand.root, cpu_current_root());
		return CHECK_FAILED;
	}
	bench_note(run, "the register holds what was loaded");
	return CHECK_PROVED;
}

BENCHMARK(set_cr3) = {
	.name = "set-cr3",
	.category = "privileged",
	.summary = "load the page-table root with its own value (privileged)",
	.requires = "",
	.init = init,
	.run = set_cr3_run,
	.control = set_cr3_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
