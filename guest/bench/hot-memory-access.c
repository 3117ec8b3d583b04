/* Hot Memory Access: reads pages that were read before. Parameters: ws=, page=. */
#include "bench.h"

/* Of the first-level cache. A step is this more than a page: steps of a whole page would all be in one set. */
#define LINE_BYTES 64

TIMED_DECLARE(hot_memory_access);

/* The control has its own cursor, so that the run reads every page. */
static struct walk_operand operand, control_operand;

static const char *needs(const struct params *params)
{
	if (!page_size_supported(params->page_bytes))
		return "this CPU has no pages of that size";
	if (params->ws_bytes < params->page_bytes)
		return "the working set is smaller than a page: give ws= at least one page";
	return NULL;
}

/* The word that is read of a page. As steps are longer than pages, some virtual pages are left out. */
static uint64_t *word_of(uint64_t page)
{
	return (uint64_t *)(operand.start + page * operand.stride_bytes);
}

static bool init(struct bench_run *run)
{
	uint64_t page_bytes = run->params->page_bytes;
	uint64_t pages = run->params->ws_bytes / page_bytes;
	uint64_t pa = untouched_take(page_bytes, pages);

	operand = (struct walk_operand){
		.at = window_base(),
		.start = window_base(),
		.end = window_base() + pages * (page_bytes + LINE_BYTES),
		.stride_bytes = page_bytes + LINE_BYTES,
	};
	run->operand = &operand;
	run->reason = "too little memory for this working set: lower ws= or give the machine more";
	if (!pa)
		return false;
	for (uint64_t i = 0; i < pages; i++) {
		uint64_t va = (uint64_t)word_of(i) & ~(page_bytes - 1);

		if (!install_pte(va, pa + i * page_bytes, page_bytes))
			return false;
		*word_of(i) = ~i; /* the first access; check compares with it */
	}
	control_operand = operand;
	run->control_operand = &control_operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t last = (operand.at - operand.start) / operand.stride_bytes;

	if (operand.value != ~last) {
		bench_note(run, "page %lu holds %lx, %lx was read", last, ~last, operand.value);
		return CHECK_FAILED;
	}
	bench_note(run, "the last read gave the number of page %lu, which is at byte %lu of it",
		   last, operand.at & (run->params->page_bytes - 1));
	return CHECK_PROVED;
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	window_clear();
}

BENCHMARK(hot_memory_access) = {
	.name = "hot-memory-access",
	.category = "memory",
	.summary = "read one word of each page of a working set, all read before",
	.requires = "memory for the working set",
	.needs = needs,
	.init = init,
	.run = hot_memory_access_run,
	.control = hot_memory_access_control,
	.check = check,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 10,
	.max_iterations = 100000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_PAGE | PARAM_WS,
};
