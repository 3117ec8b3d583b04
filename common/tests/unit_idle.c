/* Unit tests of the CPUs' idle time (on the host, under ASan and UBSan, make -C common test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/idle.h"

/* What /proc/stat says of two CPUs that were idle for so long, and waited for a disk for so long. */
static unsigned long since(unsigned first, unsigned first_waits, unsigned second)
{
	char text[400];

	(void)snprintf(text, sizeof(text),
		       "cpu  1 2 3 %u 5 6 7\ncpu0 9 9 9 %u %u 9 9 9 0 0\ncpu1 9 9 9 %u 0 9 9\n"
		       "intr 123 0 99\nctxt 77\ncpu99 1 1 1 1 1\ncpu1\n",
		       first + second, first, first_waits, second);
	return idle_since(text);
}

static void the_busiest_cpu_counts(void **state)
{
	(void)state;
	(void)since(100, 0, 200);
	assert_int_equal(since(110, 0, 210), 10);
	assert_int_equal(since(120, 0, 211), 1);
	assert_int_equal(since(120, 0, 300), 0);
}

static void a_wait_for_a_disk_is_idle_too(void **state)
{
	(void)state;
	(void)since(100, 0, 200);
	assert_int_equal(since(103, 7, 210), 10);
}

static void tasks_that_run(void **state)
{
	(void)state;
	assert_int_equal(idle_running("0.00 0.01 0.05 1/85 1234\n"), 1);
	assert_int_equal(idle_running("12.50 9.00 3.00 17/203 9\n"), 17);
	/* Never 1, which would say that nothing else runs. */
	assert_int_equal(idle_running("0.00 0.01 0.05 /85 1"), 0);
	assert_int_equal(idle_running("0.00 0.01 0.05"), 0);
	assert_int_equal(idle_running("/1"), 0);
	assert_int_equal(idle_running(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_busiest_cpu_counts),
		cmocka_unit_test(a_wait_for_a_disk_is_idle_too),
		cmocka_unit_test(tasks_that_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
