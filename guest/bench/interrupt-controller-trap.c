/* Interrupt Controller Trap (Dall et al. 2015, Table 1): an access to an interrupt controller register that
 * the hypervisor's kernel part emulates. */
#include "bench.h"

TIMED_DECLARE(interrupt_controller_trap);

static struct controller_operand operand;

static bool init(struct bench_run *run)
{
	run->operand = &operand;
	run->reason = "there is no interrupt controller that this guest knows";
	return controller_operand_fill(&operand);
}

static enum check check(struct bench_run *run)
{
	bench_note(run, "the register reads as %lx, %s; only the host can count exits",
		   operand.value,
		   operand.value == operand.wanted ? "as it must" : "which is wrong");
	/* The register's presence does not prove a trap. */
	return operand.value == operand.wanted ? CHECK_UNPROVEN : CHECK_FAILED;
}

BENCHMARK(interrupt_controller_trap) = {
	.name = "interrupt-controller-trap",
	.category = "exception",
	.summary = "access a register of the emulated interrupt controller",
	.requires = "an interrupt controller",
	.init = init,
	.run = interrupt_controller_trap_run,
	.control = interrupt_controller_trap_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 100,
	.max_iterations = 1000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
