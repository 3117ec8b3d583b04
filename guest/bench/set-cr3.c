/* Set CR3: loads the page-table root with the value that it has. */
#include "bench.h"

TIMED_PAIR(set_cr3, BEFORE_SET_ROOT, "", OP_SET_ROOT, "");

static uint64_t root;

static bool init(struct bench_run *run)
{
	root = cpu_page_table_root();
	run->operand = &root;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t pa, page_bytes;

	if (!translate((uint64_t)&root, &pa, &page_bytes) || pa != (uint64_t)&root) {
		bench_note(run, "the guest's own memory is not mapped 1:1 any more");
		return CHECK_FAILED;
	}
	if (!root_load_takes_effect()) {
		bench_note(run, "another root was loaded, and the same memory was seen as before");
		return CHECK_FAILED;
	}
	bench_note(run, "what is seen at an address follows the root that is loaded");
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
