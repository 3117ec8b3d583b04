/* The APIC's timer in TSC deadline mode, until its handler has run: a deadline that has passed, and one
 * 3,000 ticks ahead, which the figure includes. Two rows: kvm-unit-tests' tscdeadline_immed and
 * tscdeadline; its tscdeadline_immed does not wait for the handler. */
#include "exit_row.h"
#include "latency.h"
#include <arch/timed_exits.h>

TIMED_DECLARE(tsc_deadline);

#define AHEAD_TICKS 3000

static struct deadline_operand operand;

static bool prepare(struct bench_run *run, uint64_t ticks)
{
	run->operand = &operand;
	run->reason = "this CPU's APIC has no TSC deadline (CPUID, leaf 1)";
	latency_handled = (struct latency_handled){ 0 };
	return deadline_operand_fill(&operand, ticks);
}

static bool init_past(struct bench_run *run)
{
	return prepare(run, 0);
}

static bool init_ahead(struct bench_run *run)
{
	return prepare(run, AHEAD_TICKS);
}

static enum check check(struct bench_run *run)
{
	bench_note(run, "%lu deadlines, %lu interrupts", run->total, latency_handled.count);
	return latency_handled.count == run->total ? CHECK_PROVED : CHECK_FAILED;
}

EXIT_ROW(past, "tsc-deadline-past", "exception",
	 "a timer whose deadline has passed, until its handler", "a TSC deadline timer", NULL,
	 init_past, check, tsc_deadline, SELF_TIMED);
EXIT_ROW(ahead, "tsc-deadline", "exception", "a timer 3,000 ticks ahead, until its handler",
	 "a TSC deadline timer", NULL, init_ahead, check, tsc_deadline, SELF_TIMED);
