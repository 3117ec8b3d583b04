/* Ports that KVM handles in the kernel, and ACPI's timer. Three rows: kvm-unit-tests' inl_from_kernel,
 * outl_to_kernel and inl_from_pmtimer. The rows `in` and `out` use ports handled in user space. */
#include "exit_row.h"
#include <arch/timed_exits.h>

TIMED_PAIR(in_kernel, BEFORE_PORT, "", OP_PORT_IN, AFTER_PORT_IN);
TIMED_PAIR(out_kernel, BEFORE_PORT, "", OP_PORT_OUT, "");
TIMED_READ_PORT_32(in_pm_timer);

#define WAIT_TICKS 100000000 /* longer than a tick of the timer */

static struct port_operand port = { .port = PORT_EDGE_LEVEL };
static struct exit_operand timer;

static bool init_kernel(struct bench_run *run)
{
	run->operand = &port;
	return true;
}

static enum check check_kernel(struct bench_run *run)
{
	uint8_t value = in8(PORT_EDGE_LEVEL);

	bench_note(run, "the port reads as %x; only the host can count exits", value);
	return CHECK_UNPROVEN;
}

static const char *needs_timer(const struct params *params)
{
	(void)params;
	return power_management_timer_port() == PORT_NONE ? "ACPI's tables name no timer here"
							  : NULL;
}

static bool init_timer(struct bench_run *run)
{
	timer.number = power_management_timer_port();
	run->operand = &timer;
	return true;
}

static enum check check_timer(struct bench_run *run)
{
	uint64_t first = timer.value, start = rdtimer();

	do
		in_pm_timer_run(1, &timer);
	while (timer.value == first && rdtimer() - start < WAIT_TICKS);
	bench_note(run, "the timer reads as %lx, and later as %lx", first, timer.value);
	return timer.value != first ? CHECK_PROVED : CHECK_FAILED;
}

EXIT_ROW(in, "in-kernel", "io", "read a port that KVM answers in its kernel", "", NULL, init_kernel,
	 check_kernel, in_kernel, 0);
EXIT_ROW(out, "out-kernel", "io", "write a port that KVM answers in its kernel", "", NULL,
	 init_kernel, check_kernel, out_kernel, 0);
EXIT_ROW(timer, "in-pm-timer", "io", "read ACPI's timer", "ACPI with a timer", needs_timer,
	 init_timer, check_timer, in_pm_timer, 0);
