/* The CPU's own timer, 10 ms ahead: from the deadline to its handler. kvm-unit-tests' timer_10ms also
 * includes the wait. */
#include "exit_row.h"
#include "latency.h"
#include <arch/timed_exits.h>

TIMED_DECLARE(timer);

static struct timer_operand operand;

static bool init(struct bench_run *run)
{
	run->operand = &operand;
	run->reason = timer_operand_fill(&operand);
	latency_handled = (struct latency_handled){ 0 };
	if (!run->reason)
		timed_call(timer_run, 1, &operand);
	if (!run->reason && !latency_handled.count)
		run->reason = "this level's timer does not interrupt here";
	latency_handled = (struct latency_handled){ 0 };
	operand.early = 0;
	return !run->reason;
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	timer_stop();
}

static enum check check(struct bench_run *run)
{
	bench_note(run, "%lu deadlines set, %lu interrupts, %lu before their deadline", run->total,
		   latency_handled.count, operand.early);
	/* One that is given up comes early in the next pass. */
	return latency_handled.count + bench_may_miss(run) >= run->total &&
			       operand.early <= bench_may_miss(run)
		       ? CHECK_PROVED
		       : CHECK_FAILED;
}

BENCHMARK(timer) = {
	.name = "timer-10ms",
	.category = "exception",
	.summary = "deadline of the CPU's own timer, 10 ms ahead, until its handler",
	.requires = "an interrupt controller",
	.init = init,
	.run = timer_run,
	.control = timer_control,
	.check = check,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 16,
	.insns_iterations = 1,
	.insns_samples = 8, /* each waits for ten million instructions */
	.parameters = SELF_TIMED,
};
