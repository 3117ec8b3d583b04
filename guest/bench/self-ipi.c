/*
 * An interrupt that a CPU sends to itself, until its handler has run and signalled its end. Three rows, by
 * how the CPU takes it: kvm-unit-tests' self_ipi_sti_nop and _sti_hlt, and the first without end of
 * interrupt. Sent by the ICR of the APIC or the x2APIC, whichever the guest uses.
 */
#include "exit_row.h"
#include "latency.h"
#include <arch/timed_exits.h>

TIMED_DECLARE(self_ipi);
TIMED_DECLARE(self_ipi_halted);
TIMED_DECLARE(self_ipi_no_eoi);

static struct completion_operand operand;
static uint64_t before;

static bool prepare(struct bench_run *run, bool ends)
{
	run->operand = &operand;
	run->reason = "there is no interrupt controller that this guest knows";
	before = completions_taken;
	latency_handled = (struct latency_handled){ 0 };
	return self_ipi_operand_fill(&operand, ends);
}

static bool init(struct bench_run *run)
{
	return prepare(run, true);
}

static bool init_no_eoi(struct bench_run *run)
{
	return prepare(run, false);
}

static enum check judge(struct bench_run *run, uint64_t came)
{
	bench_note(run, "%lu sent, %lu came, %lu of them behind a halt", run->total, came,
		   latency_handled.found_halted);
	return came == run->total ? CHECK_PROVED : CHECK_FAILED;
}

static enum check check(struct bench_run *run)
{
	return judge(run, latency_handled.count);
}

static enum check check_no_eoi(struct bench_run *run)
{
	return judge(run, completions_taken - before);
}

EXIT_ROW(nop, "self-ipi", "exception", "interrupt to this CPU itself, until its handler ended it",
	 "", NULL, init, check, self_ipi, SELF_TIMED);
EXIT_ROW(hlt, "self-ipi-halted", "exception", "the same, with a halt before it", "", NULL, init,
	 check, self_ipi_halted, SELF_TIMED);
EXIT_ROW(no_eoi, "self-ipi-no-eoi", "exception", "the same, and its handler does not end it", "",
	 NULL, init_no_eoi, check_no_eoi, self_ipi_no_eoi, SELF_TIMED);
