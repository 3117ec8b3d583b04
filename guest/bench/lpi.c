/* An LPI: from a device's event, which an ITS translates to an interrupt of this CPU, until the handler has
 * run. Triggered by an ITS command (INT), like kvm-unit-tests' micro-bench. */
#include "exit_row.h"
#include "latency.h"
#include <arch/timed_exits.h>

TIMED_DECLARE(lpi);

static struct lpi_operand operand;

static bool init(struct bench_run *run)
{
	run->operand = &operand;
	run->reason = lpi_operand_fill(&operand);
	latency_handled = (struct latency_handled){ 0 };
	return !run->reason;
}

static enum check check(struct bench_run *run)
{
	bench_note(run, "%lu asked for, %lu came", run->total, latency_handled.count);
	return latency_handled.count == run->total ? CHECK_PROVED : CHECK_FAILED;
}

EXIT_ROW(lpi, "lpi", "exception", "interrupt by a command of the ITS, until its handler has run",
	 "an ITS", NULL, init, check, lpi, SELF_TIMED);
