/*
 * Set Page Table: writes page-table entries for many pages, in the tables in use. Two rows, for pages of 4
 * KiB and of 2 MiB. One operation is one entry.
 */
#include "bench.h"
#include <arch/page_entry.h>

TIMED_DECLARE(set_page_table_4k);
TIMED_DECLARE(set_page_table_2m);

/* Page tables: 512 pages, less three for upper levels and one spare, hold 260,096 entries of 4 KiB. */
#define POOL_BYTES (2 * MIB)
#define POOL_PAGES (POOL_BYTES / (4 * KIB))

static struct set_pt_operand operand, control_operand;

/* The pages are mapped to [0, span) repeatedly; any memory will do. */
static bool prepare(struct bench_run *run, uint64_t page_bytes, uint64_t span)
{
	uint64_t pool = (uint64_t)heap_alloc_page(POOL_BYTES);
	uint64_t batches = run->samples + TRIAL_BATCHES;
	uint64_t most = (POOL_PAGES - 4) * 512 / batches;

	if (!pool) {
		run->reason = "no memory left for page tables";
		return false;
	}
	/* The window has room for only so many entries of 2 MiB. */
	if (most > WINDOW_BYTES / page_bytes / batches)
		most = WINDOW_BYTES / page_bytes / batches;
	if (run->max_iterations > most)
		run->max_iterations = most;
	operand = (struct set_pt_operand){
		.root = cpu_page_table_root(),
		.va = window_base() - page_bytes, /* incremented before each entry */
		.pa_end = span,
		.pool = pool,
		.pool_end = pool + POOL_BYTES,
	};
	control_operand = operand;
	run->operand = &operand;
	run->control_operand = &control_operand;
	return true;
}

static bool init_4k(struct bench_run *run)
{
	return prepare(run, 4 * KIB, 16 * MIB);
}

static bool init_2m(struct bench_run *run)
{
	return prepare(run, 2 * MIB, 16 * MIB);
}

static bool maps_right(uint64_t va, uint64_t page_bytes)
{
	uint64_t number = (va - window_base()) / page_bytes + 1;
	uint64_t wanted = number * page_bytes % operand.pa_end, pa, found_bytes;

	return translate(va, &pa, &found_bytes) && found_bytes == page_bytes && pa == wanted;
}

static enum check judge(struct bench_run *run, uint64_t page_bytes)
{
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < run->total; i++)
		wrong += !maps_right(window_base() + i * page_bytes, page_bytes);
	bench_note(run, "%lu entries written, %lu of them wrong, %lu for which no table was left",
		   run->total, wrong, operand.failed);
	return wrong || operand.failed ? CHECK_FAILED : CHECK_PROVED;
}

static enum check check_4k(struct bench_run *run)
{
	return judge(run, 4 * KIB);
}

static enum check check_2m(struct bench_run *run)
{
	return judge(run, 2 * MIB);
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	window_clear();
}

BENCHMARK(set_page_table_4k) = {
	.name = "set-page-table-4k",
	.category = "memory",
	.summary = "write a page-table entry of 4 KiB, with its tables where they lack",
	.requires = "memory for page tables",
	.init = init_4k,
	.run = set_page_table_4k_run,
	.control = set_page_table_4k_control,
	.check = check_4k,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 512,
	.max_iterations = 65536,
	.insns_iterations = 1,
	.insns_samples = 64,
};

BENCHMARK(set_page_table_2m) = {
	.name = "set-page-table-2m",
	.category = "memory",
	.summary = "write a page-table entry of 2 MiB, with its tables where they lack",
	.requires = "memory for page tables",
	.init = init_2m,
	.run = set_page_table_2m_run,
	.control = set_page_table_2m_control,
	.check = check_2m,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 512,
	.max_iterations = 65536,
	.insns_iterations = 1,
	.insns_samples = 64,
};
