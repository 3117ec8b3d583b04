/*
 * Remap Page: changes a page-table entry that is in use, invalidates its translation, and reads through the
 * new one. The cost of keeping shadow page tables in sync (the paper's T_sync).
 */
#include "bench.h"

TIMED_DECLARE(remap_page);

/* Contents of the two pages: the sum of all reads gives the number of reads of each. */
#define FIRST  1ull
#define SECOND (1ull << 32)

static struct remap_operand operand, control_operand;

static bool init(struct bench_run *run)
{
	uint64_t *first = heap_alloc_page(4 * KIB), *second = heap_alloc_page(4 * KIB);

	run->reason = "no memory left for two pages and their tables";
	if (!first || !second)
		return false;
	*first = FIRST;
	*second = SECOND;
	if (!remap_operand_fill(&operand, window_base(), (uint64_t)first, (uint64_t)second,
				4 * KIB))
		return false;
	/* The page is in use before the first sample. */
	if (*(volatile uint64_t *)window_base() != FIRST)
		return false;
	control_operand = operand;
	run->operand = &operand;
	run->control_operand = &control_operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t first = operand.sum % SECOND, second = operand.sum / SECOND;

	bench_note(run, "of %lu reads %lu saw the second page and %lu the first, as by turns",
		   run->total, second, first);
	/* The first pass switches to the second page. */
	return second == (run->total + 1) / 2 && first == run->total / 2 ? CHECK_PROVED
									 : CHECK_FAILED;
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	window_clear();
}

BENCHMARK(remap_page) = {
	.name = "remap-page",
	.category = "memory",
	.summary = "change a page-table entry in use, INVLPG, read through it",
	.requires = "",
	.init = init,
	.run = remap_page_run,
	.control = remap_page_control,
	.check = check,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 100,
	.max_iterations = 100000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
