/* Set CR3: loads the page-table root (CR3, TTBR0) with its current value. */
#include "bench.h"

TIMED_DECLARE(set_cr3);

static struct root_operand operand;

static bool init(struct bench_run *run)
{
	operand = cpu_root_operand();
	run->operand = &operand;
	return true;
}

/*
 * Does an address map to other memory after another root is loaded? The other root is a copy whose window
 * maps elsewhere. The register is not read back: under shadow paging, QEMU 10's SVM shows the guest the
 * shadow's root. Restores the guest's own root.
 */
static bool root_load_takes_effect(void)
{
	const uint64_t *own = (const uint64_t *)cpu_page_table_root();
	uint64_t *other = heap_alloc_page(4 * KIB);
	uint64_t *here = heap_alloc_page(4 * KIB), *there = heap_alloc_page(4 * KIB);
	volatile uint64_t *window = (volatile uint64_t *)window_base();
	bool shown;

	if (!other || !here || !there)
		return false;
	*here = 1;
	*there = 2;
	window_clear();
	if (!install_pte(window_base(), (uint64_t)there, 4 * KIB))
		return false;
	for (unsigned i = 0; i < 4 * KIB / sizeof(*own); i++)
		other[i] = own[i];
	window_clear();
	if (!install_pte(window_base(), (uint64_t)here, 4 * KIB))
		return false;
	cpu_load_root((uint64_t)other);
	shown = *window == 2;
	cpu_load_root((uint64_t)own);
	shown = shown && *window == 1;
	window_clear();
	return shown;
}

static enum check check(struct bench_run *run)
{
	uint64_t pa, page_bytes;

	if (!translate((uint64_t)&operand, &pa, &page_bytes) || pa != (uint64_t)&operand) {
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
