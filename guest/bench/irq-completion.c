/* Virtual IRQ Completion (Dall et al. 2015, Table 1): signals end of interrupt for an active interrupt. */
#include "bench.h"

TIMED_DECLARE(irq_completion);
/* The two halves of a pass, for check. */
timed_loop irq_completion_begin, irq_completion_end;

static struct completion_operand operand;

static bool init(struct bench_run *run)
{
	run->operand = &operand;
	run->reason = "there is no interrupt controller that this guest knows";
	return completion_operand_fill(&operand);
}

static enum check check(struct bench_run *run)
{
	bool before, active, after;

	before = completion_is_active();
	irq_completion_begin(1, &operand);
	active = completion_is_active();
	irq_completion_end(1, &operand);
	after = completion_is_active();
	bench_note(run,
		   "%lu interrupts never came; by the controller's register one is %s before its "
		   "end, and %s behind it",
		   operand.missed, active ? "active" : "not active",
		   after ? "active" : "not active");
	return !operand.missed && !before && active && !after ? CHECK_PROVED : CHECK_FAILED;
}

BENCHMARK(irq_completion) = {
	.name = "irq-completion",
	.category = "exception",
	.summary = "end an interrupt that is active",
	.requires = "an interrupt controller",
	.init = init,
	.run = irq_completion_run,
	.control = irq_completion_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10,
	.max_iterations = 10000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = SELF_TIMED,
};
