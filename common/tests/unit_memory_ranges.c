/* Unit tests of memory ranges (on the host, make -C common test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/memory_ranges.h"

static struct memory_range ranges[MAX_RANGES];

static void whole_pages_are_taken(void **state)
{
	unsigned count = 1;

	(void)state;
	ranges[0] = (struct memory_range){ 0x1000, 0x9000 };
	assert_true(ranges_take_away(ranges, &count, 0x3001, 0x4001));
	assert_int_equal(count, 2);
	assert_true(ranges[0].start == 0x1000 && ranges[0].end == 0x3000);
	assert_true(ranges[1].start == 0x5000 && ranges[1].end == 0x9000);
	assert_true(ranges_take_away(ranges, &count, 0, 0x2000));
	assert_true(ranges[0].start == ranges[0].end); /* the part after the hole is a new range */
	assert_true(count == 3 && ranges[2].start == 0x2000 && ranges[2].end == 0x3000);
	assert_true(ranges_take_away(ranges, &count, 0, 0x100000));
	for (unsigned i = 0; i < count; i++)
		assert_true(ranges[i].start == ranges[i].end);
}

/* Free memory may be lost, but used memory never becomes free. */
static void a_full_list_loses_what_is_free(void **state)
{
	unsigned count = MAX_RANGES;

	(void)state;
	for (unsigned i = 0; i < count; i++)
		ranges[i] = (struct memory_range){ 0x10000 * i, 0x10000 * i + 0x4000 };
	assert_false(ranges_take_away(ranges, &count, 0x1000, 0x11000));
	assert_int_equal(count, MAX_RANGES);
	assert_true(ranges[0].start == 0 && ranges[0].end == 0x1000);
	assert_true(ranges[1].start == ranges[1].end);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_pages_are_taken),
		cmocka_unit_test(a_full_list_loses_what_is_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
