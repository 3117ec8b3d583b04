/* Unit tests of the CPUs' idle time (on the host, under ASan and UBSan, make -C common test). */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* Milliseconds of the clock. */
static long now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Stays on one CPU, waits, and ends the process: with 0, if that took as long as a look at the CPUs takes. */
static _Noreturn void wait_on_one_cpu(void)
{
	long before = now_ms();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		_exit(2);
	(void)idle_await();
	_exit(now_ms() - before >= 100 ? 0 : 1);
}

/* A host's agent stays on one CPU of several, on which others run. If these are busy, it waits for up to a minute; half
 * a second of that is enough. */
static void who_stays_on_one_cpu_waits_for_the_others_too(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		wait_on_one_cpu();
	for (unsigned looks = 0; looks < 50; looks++) {
		(void)usleep(10000);
		if (waitpid(child, &status, WNOHANG) == child) {
			assert_int_equal(status, 0);
			return;
		}
	}
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_busiest_cpu_counts),
		cmocka_unit_test(a_wait_for_a_disk_is_idle_too),
		cmocka_unit_test(tasks_that_run),
		cmocka_unit_test(who_stays_on_one_cpu_waits_for_the_others_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
