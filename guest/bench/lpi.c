/* An LPI: from a device's event, which an ITS translates to an interrupt of this CPU, until the handler has
 * run. Triggered by an ITS command (INT), like kvm-unit-tests' micro-bench; or by a PCI device of the host (VFIO). */
#include "exit_row.h"
#include "latency_row.h"
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

TIMED_DECLARE(card_lpi);

static struct card_operand card;

/* KVM can give the card's interrupt to the GICv4 only when the ITS has its event. */
static bool init_assigned(struct bench_run *run)
{
	const struct latency_page *page;

	run->reason = lpi_operand_fill(&operand);
	page = run->reason ? NULL : latency_command(run, LATENCY_ASSIGNED);
	if (page)
		run->reason =
			card_operand_fill(&card, page->interrupt_address, page->interrupt_data);
	run->operand = &card;
	latency_handled = (struct latency_handled){ 0 };
	return !run->reason;
}

BENCHMARK_ROW(assigned, "lpi-assigned", "exception",
	      "interrupt of a network card by VFIO, until its handler has run",
	      "our own monitor, an ITS, an Intel 82574 (assign=)", latency_needs, init_assigned,
	      check, card_lpi, .cleanup = latency_stop, .cpus = 1, .min_iterations = 1,
	      .max_iterations = 1000, .parameters = SELF_TIMED);
