/*
 * Checks that an interrupt which the hypervisor injects arrives once. Between taking and ending it, this
 * CPU runs without an exit for longer than the period of the timer tick of the Linux below. An emulator
 * with the fault svm-interrupt-twice (lab/quirks.toml) delivers the interrupt again at that tick.
 */
#include "bench.h"
#include <arch/timed_exits.h>

/* 8 million instructions: 8 ms of a lab machine, whose Linux has a tick every 4 ms. */
#define RUN_ON "mov $4000000, %ecx\n6:\tdec %ecx\n\tjnz 6b\n\t"
TIMED_EACH_BODY("interrupt_once_run", "", SEND_TO_SELF "sti\n\t" UNTIL_TAKEN "\n\t" RUN_ON,
		COMPLETION_FROM_OPERAND "\n\t" OP_COMPLETION);
TIMED_EACH_BODY("interrupt_once_control", "", "", "");
TIMED_DECLARE(interrupt_once);

static struct completion_operand operand;
static uint64_t before;

static bool init_once(struct bench_run *run)
{
	run->operand = &operand;
	run->reason = "there is no interrupt controller that this guest knows";
	before = completions_taken;
	return self_ipi_operand_fill(&operand, false);
}

static enum check check_once(struct bench_run *run)
{
	uint64_t came = completions_taken - before;

	bench_note(run, "%lu sent, %lu came", run->total, came);
	return came == run->total ? CHECK_PROVED : CHECK_FAILED;
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
	.insns_samples = 8,
	.parameters = SELF_TIMED,
};
