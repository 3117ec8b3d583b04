/*
 * Checks that an interrupt which the hypervisor injects arrives once. Between taking and ending it, this
 * CPU runs without an exit for longer than the period of the timer tick of the Linux below. An emulator
 * with the fault svm-interrupt-twice (lab/quirks.toml) delivers the interrupt again at that tick.
 */
#include "bench.h"
#include <arch/timed_exits.h>

#define INTERRUPTS 8
/* 8 million instructions: 8 ms of a lab machine, whose Linux has a tick every 4 ms. */
#define RUN_ON	   4000000u

/* The two halves of a pass of irq-completion: take an interrupt, and end it. */
timed_loop irq_completion_begin, irq_completion_end;

TIMED_LOOP(interrupt_once, "nop");

static struct completion_operand operand;

static bool init_once(struct bench_run *run)
{
	run->reason = "there is no interrupt controller that this guest knows";
	return completion_operand_fill(&operand);
}

static enum check check_once(struct bench_run *run)
{
	uint64_t came = completions_taken;

	for (unsigned i = 0; i < INTERRUPTS; i++) {
		uint32_t passes = RUN_ON;

		irq_completion_begin(1, &operand);
		__asm__ volatile("1:\tdec %0\n\tjnz 1b" : "+r"(passes));
		irq_completion_end(1, &operand);
	}
	came = completions_taken - came;
	bench_note(run, "%u sent, %lu came", INTERRUPTS, came);
	return came == INTERRUPTS ? CHECK_PROVED : CHECK_FAILED;
}
BENCHMARK(interrupt_once) = {
	.name = "interrupt-once",
	.category = "planted",
	.summary = "an injected interrupt, and long without an exit",
	.init = init_once,
	.run = interrupt_once_run,
	.control = interrupt_once_control,
	.check = check_once,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 1,
	.insns_iterations = 1,
	.insns_samples = 2,
};
