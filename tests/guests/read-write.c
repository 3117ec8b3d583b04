/*
 * A row that first reads untouched pages and then writes them (tests/e2e/neve-linux.bats). KVM maps a page
 * that was only read without write permission; at the permission fault that follows it uses AT to find
 * the address.
 */
#include "row.h"

#define PAGES	   256
#define PAGE_BYTES 4096ull

static enum check check_read_write(struct bench_run *run)
{
	uint64_t from = untouched_take(PAGE_BYTES, PAGES), sum = 0;

	if (!from)
		return CHECK_FAILED;
	for (uint64_t i = 0; i < 2 * PAGES; i++) {
		uint64_t offset = i % PAGES * PAGE_BYTES;
		volatile uint64_t *at = (uint64_t *)(window_base() + offset);

		if (i < PAGES && !install_pte(window_base() + offset, from + offset, PAGE_BYTES))
			return CHECK_FAILED;
		if (i >= PAGES)
			*at = 1;
		sum += *at;
	}
	bench_note(run, "%lu of %u were written", sum, PAGES);
	return sum == PAGES ? CHECK_PROVED : CHECK_FAILED;
}
ROW(read_write, "read-write", .check = check_read_write);
