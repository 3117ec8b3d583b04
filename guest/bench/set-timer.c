/* Set Timer: the SBI call that programs the CPU's timer; the deadline never comes. */
#include "exit_row.h"
#include "shared_phases.h"
#include <arch/timed_exits.h>

static struct hypercall_operand operand, control_operand;

static bool init(struct bench_run *run)
{
	operand = set_timer_operand();
	hypercall_run(1, &operand);
	run->reason = "SBI has no timer call here";
	operand.wanted = operand.last;
	operand.wrong = 0;
	control_operand = operand;
	run->operand = &operand;
	run->control_operand = &control_operand;
	return (int64_t)operand.last >= 0;
}

static enum check check(struct bench_run *run)
{
	bench_note(run, "%lu calls, %lu with an error; only the host can count exits", run->total,
		   operand.wrong);
	return operand.wrong ? CHECK_FAILED : CHECK_UNPROVEN;
}

EXIT_ROW(set_timer, "set-timer", "exception", "program the CPU's timer by an SBI call", "", NULL,
	 init, check, hypercall, 0);
