/* Cold Memory Access: one read of each of many untouched pages. Parameters: page=, ws=; a batch reads at
 * most one working set. */
#include "bench.h"

TIMED_DECLARE(cold_memory_access);

static struct walk_operand operand, control_operand;

static const char *needs(const struct params *params)
{
	if (!page_size_supported(params->page_bytes))
		return "this CPU has no pages of that size";
	if (params->ws_bytes < params->page_bytes)
		return "the working set is smaller than a page: give ws= at least one page";
	return NULL;
}

static bool init(struct bench_run *run)
{
	uint64_t page_bytes = run->params->page_bytes;
	/* Each sample and each trial reads new pages. */
	uint64_t batches = run->samples + TRIAL_BATCHES;
	uint64_t most = run->max_iterations, pages, pa;

	if (run->params->iters)
		most = run->params->iters;
	else if (run->params->unit == UNIT_INSNS)
		most = 1;
	if (most > run->params->ws_bytes / page_bytes)
		most = run->params->ws_bytes / page_bytes;
	if (most > untouched_pages(page_bytes) / batches)
		most = untouched_pages(page_bytes) / batches;
	run->max_iterations = most;
	pages = most * batches;
	pa = untouched_take(page_bytes, pages);
	run->reason = "too few untouched pages of this size: lower page= or samples=, or give the "
		      "machine more memory";
	if (!pa)
		return false;
	for (uint64_t i = 0; i < pages; i++)
		if (!install_pte(window_base() + i * page_bytes, pa + i * page_bytes, page_bytes))
			return false;
	operand = (struct walk_operand){
		.at = window_base() - page_bytes, /* incremented before each read */
		.start = window_base(),
		.end = window_base() + pages * page_bytes,
		.stride_bytes = page_bytes,
	};
	control_operand = operand;
	run->operand = &operand;
	run->control_operand = &control_operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t used = 0, pages = (operand.end - operand.start) / operand.stride_bytes;

	for (uint64_t i = 0; i < pages; i++)
		used += page_accessed(operand.start + i * operand.stride_bytes);
	if (!page_accessed_known()) {
		bench_note(run,
			   "%lu reads; this CPU keeps no accessed bits, and only the host can see "
			   "whether the pages had no memory behind them",
			   run->total);
		return CHECK_UNPROVEN;
	}
	bench_note(
		run,
		"%lu reads, %lu pages used by their accessed bits; only the host can see whether "
		"they had no memory behind them",
		run->total, used);
	return used == run->total ? CHECK_UNPROVEN : CHECK_FAILED;
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	window_clear();
}

BENCHMARK(cold_memory_access) = {
	.name = "cold-memory-access",
	.category = "memory",
	.summary = "read one word of each of many pages that nothing has touched",
	.requires = "untouched memory",
	.needs = needs,
	.init = init,
	.run = cold_memory_access_run,
	.control = cold_memory_access_control,
	.check = check,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 10,
	.max_iterations = 100000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_PAGE | PARAM_WS,
};
