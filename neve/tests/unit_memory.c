/* Unit tests of translation tables, free memory, decoding of aborts, and injected exceptions, on the
 * host, under ASan and UBSan (make -C neve test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/memory.h"
#include "tables/table.h"
#include "vm/inject.h"
#include "vm/mmio.h"

#define POOL_PAGES 16
#define ATTRIBUTES 0x4fcull

static uint8_t *pool_bytes;
static struct table_pool pool;
static struct table table;

static int set_up(void **state)
{
	(void)state;
	pool_bytes = aligned_alloc(PAGE_BYTES, POOL_PAGES * PAGE_BYTES);
	memset(pool_bytes, 0, POOL_PAGES * PAGE_BYTES);
	pool = (struct table_pool){ .next = (uintptr_t)pool_bytes,
				    .end = (uintptr_t)pool_bytes + POOL_PAGES * PAGE_BYTES };
	return !table_init(&table, &pool);
}

static int tear_down(void **state)
{
	(void)state;
	free(pool_bytes);
	return 0;
}

static void expect(uint64_t from, uint64_t output, uint64_t bytes)
{
	struct table_leaf leaf;

	assert_true(table_walk(&table, from, &leaf));
	assert_int_equal(leaf.output, output);
	assert_int_equal(leaf.bytes, bytes);
	assert_int_equal(leaf.attributes, ATTRIBUTES);
}

static void pieces_are_as_large_as_alignment_allows(void **state)
{
	struct table_leaf leaf;

	(void)state;
	/* A page, blocks, a GiB, blocks, a page. */
	assert_true(table_map(&table, GIB - 2 * MIB - PAGE_BYTES, 5 * GIB - 2 * MIB - PAGE_BYTES,
			      GIB + 4 * MIB + 2 * PAGE_BYTES, ATTRIBUTES, LARGE_BYTES));
	expect(GIB - 2 * MIB - 1, 5 * GIB - 2 * MIB - 1, PAGE_BYTES);
	expect(GIB - 1, 5 * GIB - 1, BLOCK_BYTES);
	expect(GIB + 12345, 5 * GIB + 12345, LARGE_BYTES);
	expect(2 * GIB, 6 * GIB, BLOCK_BYTES);
	expect(2 * GIB + 2 * MIB, 6 * GIB + 2 * MIB, PAGE_BYTES);
	assert_false(table_walk(&table, 2 * GIB + 2 * MIB + PAGE_BYTES, &leaf));
	assert_false(table_walk(&table, GIB - 2 * MIB - PAGE_BYTES - 1, &leaf));
}

static void the_largest_piece_can_be_bounded(void **state)
{
	(void)state;
	assert_true(table_map(&table, 0, 0, 4 * MIB, ATTRIBUTES, PAGE_BYTES));
	expect(2 * MIB, 2 * MIB, PAGE_BYTES);
}

static void a_mapping_over_another_is_refused(void **state)
{
	(void)state;
	assert_true(table_map(&table, 2 * MIB, 8 * MIB, 2 * MIB, ATTRIBUTES, BLOCK_BYTES));
	assert_false(table_map(&table, 2 * MIB, 8 * MIB, PAGE_BYTES, ATTRIBUTES, BLOCK_BYTES));
	assert_false(table_map(&table, 0, 0, 4 * MIB, ATTRIBUTES, BLOCK_BYTES));
	expect(2 * MIB, 8 * MIB, BLOCK_BYTES);
}

static void what_cannot_be_mapped_is_refused(void **state)
{
	const uint64_t end = 1ull << TABLE_INPUT_BITS;
	struct table_leaf leaf;

	(void)state;
	assert_false(table_map(&table, 1, 0, PAGE_BYTES, ATTRIBUTES, BLOCK_BYTES));
	assert_false(
		table_map(&table, end - PAGE_BYTES, 0, 2 * PAGE_BYTES, ATTRIBUTES, BLOCK_BYTES));
	assert_false(table_map(&table, end, 0, PAGE_BYTES, ATTRIBUTES, BLOCK_BYTES));
	assert_false(table_map(&table, 0, 1ull << 52, PAGE_BYTES, ATTRIBUTES, BLOCK_BYTES));
	assert_false(table_walk(&table, end, &leaf));
	assert_false(table_walk(&table, UINT64_MAX, &leaf));
}

static void the_second_table_of_the_root_is_behind_the_first(void **state)
{
	const uint64_t half = 1ull << STAGE1_INPUT_BITS;

	(void)state;
	assert_int_equal((uintptr_t)table.root % (TABLE_ROOTS * PAGE_BYTES), 0);
	assert_true(table_map(&table, half, GIB, GIB, ATTRIBUTES, LARGE_BYTES));
	expect(half + 12345, GIB + 12345, LARGE_BYTES);
	assert_true(table.root[TABLE_ENTRIES] & 1);
	assert_int_equal(table.root[0], 0);
}

static void the_promised_pages_are_enough(void **state)
{
	const uint64_t bytes = 8 * MIB, start = GIB - 4 * MIB;

	(void)state;
	pool.end = pool.next + (table_pages_needed(bytes, PAGE_BYTES) - 1) * PAGE_BYTES;
	assert_true(table_map(&table, start, start, bytes, ATTRIBUTES, PAGE_BYTES));
	pool.end = pool.next;
	assert_false(table_map(&table, 100 * GIB, 0, PAGE_BYTES, ATTRIBUTES, BLOCK_BYTES));
}

static void taking_memory_away_splits_ranges(void **state)
{
	struct memory memory = { { { 0x1000, 0x9000 }, { 0x20000, 0x30000 } }, 2 };

	(void)state;
	assert_true(memory_take_away(&memory, 0x3001, 0x4001));
	assert_int_equal(memory.count, 3);
	assert_true(memory.free[0].end == 0x3000 && memory.free[2].start == 0x5000);
	assert_true(memory_take_away(&memory, 0, 0x100000));
	for (unsigned i = 0; i < memory.count; i++)
		assert_true(memory.free[i].start >= memory.free[i].end);
	assert_int_equal(memory_take(&memory, 0x1000, 0x1000), 0);
}

static void memory_is_taken_once_and_aligned(void **state)
{
	struct memory memory = { { { 0x1000, 0x800000 } }, 1 };
	uint64_t first, second;

	(void)state;
	first = memory_take(&memory, 0x200000, 0x200000);
	second = memory_take(&memory, 0x200000, 0x200000);
	assert_int_equal(first, 0x200000);
	assert_int_equal(second, 0x400000);
	assert_int_equal(memory_take(&memory, 0x400000, 0x200000), 0);
	assert_int_equal(memory_take(&memory, 0x1000, 0x1000), 0x1000);
}

/* ESR of a data abort: a load or store of 1 << `bytes_log2` bytes by register `rt`. */
static uint64_t syndrome(unsigned bytes_log2, unsigned rt, uint64_t more)
{
	return 0x24ull << 26 | 1ull << 25 | 1ull << 24 | (uint64_t)bytes_log2 << 22 |
	       (uint64_t)rt << 16 | more;
}

static void loads_are_decoded_and_extended(void **state)
{
	struct access access;
	struct mmio_register to;

	(void)state;
	assert_true(mmio_decode(syndrome(0, 7, 1 << 21), &access, &to)); /* ldrsb w7 */
	assert_true(access.bytes == 1 && !access.write && to.number == 7);
	access.value = 0xff80;
	assert_int_equal(mmio_loaded(&access, &to), 0xffffff80);
	assert_true(mmio_decode(syndrome(2, 7, 1 << 21 | 1 << 15), &access, &to)); /* ldrsw x7 */
	access.value = 0x80000000;
	assert_true(mmio_loaded(&access, &to) == 0xffffffff80000000ull);
	assert_true(mmio_decode(syndrome(3, 31, 1 << 15 | 1 << 6), &access, &to)); /* str xzr */
	assert_true(access.bytes == 8 && access.write && to.number == 31);
	assert_true(mmio_decode(syndrome(1, 2, 1 << 6), &access, &to)); /* strh w2 */
	assert_int_equal(mmio_stored(&access, 0x12345678), 0x5678);
}

static void what_the_syndrome_does_not_tell_is_refused(void **state)
{
	struct access access;
	struct mmio_register to;

	(void)state;
	assert_false(mmio_decode(syndrome(3, 0, 0) & ~(1ull << 24), &access, &to));
	assert_false(mmio_decode(syndrome(3, 0, 1 << 8 | 1 << 6), &access, &to));
}

static void exceptions_go_where_the_hardware_would_send_them(void **state)
{
	const uint64_t nzcv = 0xaull << 28, dit = 1 << 24, pan = 1 << 22, masked = 0x3c0, el1h = 5;
	struct injected to;

	(void)state;
	to = inject_synchronous(0x8000, nzcv | dit | 0x5, true, true);
	assert_true(to.pc == 0x8200 && to.pstate == (nzcv | dit | masked | el1h));
	to = inject_synchronous(0x8000, 0x4, true, false);
	assert_true(to.pc == 0x8000 && to.pstate == (pan | masked | el1h));
	to = inject_synchronous(0x8000, 1ull << 20 | 1 << 21 | pan, false, true); /* IL, SS */
	assert_true(to.pc == 0x8400 && to.pstate == (masked | el1h));
	/* From EL1 an abort's class is one more; an external abort, a write. */
	assert_int_equal(inject_external_abort(syndrome(0, 0, 1 << 6), 5),
			 0x25ull << 26 | 1 << 25 | 0x50);
	assert_int_equal(inject_external_abort(syndrome(0, 0, 0), 0),
			 0x24ull << 26 | 1 << 25 | 0x10);
	assert_int_equal(inject_undefined(0x16ull << 26 | 1 << 25 | 0x123), 1 << 25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pieces_are_as_large_as_alignment_allows, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_largest_piece_can_be_bounded, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_mapping_over_another_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_mapped_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_second_table_of_the_root_is_behind_the_first,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_promised_pages_are_enough, set_up, tear_down),
		cmocka_unit_test(taking_memory_away_splits_ranges),
		cmocka_unit_test(memory_is_taken_once_and_aligned),
		cmocka_unit_test(loads_are_decoded_and_extended),
		cmocka_unit_test(what_the_syndrome_does_not_tell_is_refused),
		cmocka_unit_test(exceptions_go_where_the_hardware_would_send_them),
	};

	return cmocka_run_group_tests_name("neve: memory", tests, NULL, NULL);
}
