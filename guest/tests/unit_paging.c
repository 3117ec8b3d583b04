/* Unit tests of page tables, with four levels and with three (riscv64's Sv48 and Sv39), on the host under ASan and UBSan
 * (make -C guest test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guest/core/paging.h"
#include "posih.h"
#include <arch/page_entry.h>

#define MAX_TABLES 16

unsigned page_top_shift;
static void *tables[MAX_TABLES];
static unsigned tables_used;

void *heap_alloc_page(uint64_t page_bytes)
{
	void *table;

	assert_true(tables_used < MAX_TABLES);
	table = aligned_alloc(page_bytes, page_bytes);
	assert_non_null(table);
	tables[tables_used++] = table;
	return memset(table, 0, page_bytes);
}

uint64_t entry_of_page(uint64_t pa, unsigned shift)
{
	(void)shift;
	return pa >> ENTRY_SHIFT | ENTRY_VALID | ENTRY_READ;
}

void paging_changed(void)
{
}

void mem_tlb_flush(void)
{
}

static const unsigned layouts[] = { TOP_SHIFT_SV48, TOP_SHIFT_SV39 };

static void start(unsigned top_shift)
{
	page_top_shift = top_shift;
	page_root = heap_alloc_page(4 * KIB);
}

static void end(void)
{
	while (tables_used)
		free(tables[--tables_used]);
}

static void maps(uint64_t va, uint64_t pa, uint64_t page_bytes)
{
	uint64_t found, found_bytes;

	assert_true(translate(va, &found, &found_bytes));
	assert_int_equal(found, pa);
	assert_int_equal(found_bytes, page_bytes);
}

static bool is_mapped(uint64_t va)
{
	uint64_t pa, page_bytes;

	return translate(va, &pa, &page_bytes);
}

static void pages_of_each_size_are_found(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t va = layouts[i] == TOP_SHIFT_SV48 ? 0xffff800000000000
							   : 0xffffffc000000000;

		start(layouts[i]);
		assert_int_equal(window_base(), va);
		assert_true(install_pte(va, 0x80003000, 4 * KIB));
		assert_true(install_pte(va + 2 * MIB, 0x80400000, 2 * MIB));
		assert_true(install_pte(va + GIB, 0xc0000000, GIB));
		maps(va + 0x123, 0x80003123, 4 * KIB);
		maps(va + 2 * MIB + 0x12345, 0x80412345, 2 * MIB);
		maps(va + GIB + 0x1234567, 0xc1234567, GIB);
		assert_false(is_mapped(va + 4 * KIB));
		assert_false(is_mapped(va + 4 * MIB));
		assert_false(is_mapped(va + 2 * GIB));
		end();
	}
}

static void the_window_is_cleared_from_its_first_page_to_its_last(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t first, last;

		start(layouts[i]);
		first = window_base();
		last = first + WINDOW_BYTES - 4 * KIB;
		/* Neighbours: the last of the lower half, and that behind the window. */
		page_root[255] = page_root[511] = entry_of_page(0, TOP_SHIFT);
		assert_true(install_pte(first, 0x80000000, 4 * KIB));
		assert_true(install_pte(last, 0x80001000, 4 * KIB));
		maps(last, 0x80001000, 4 * KIB);
		window_clear();
		assert_false(is_mapped(first));
		assert_false(is_mapped(last));
		assert_int_equal(page_root[255], entry_of_page(0, TOP_SHIFT));
		assert_int_equal(page_root[511], entry_of_page(0, TOP_SHIFT));
		end();
	}
}

static void three_levels_map_nothing_beside_the_window(void **state)
{
	(void)state;
	start(TOP_SHIFT_SV39);
	assert_false(install_pte(window_base() + WINDOW_BYTES, 0, 4 * KIB));
	assert_false(install_pte(window_base() - 4 * KIB, 0, 4 * KIB));
	assert_false(install_pte(0, 0, GIB));
	assert_int_equal(tables_used, 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_each_size_are_found),
		cmocka_unit_test(the_window_is_cleared_from_its_first_page_to_its_last),
		cmocka_unit_test(three_levels_map_nothing_beside_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
