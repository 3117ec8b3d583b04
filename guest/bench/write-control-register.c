/* Write Control Register: loads the register that enables MMU and caches (SCTLR) with its current value. */
#include "bench.h"

TIMED_DECLARE(write_control_register);

static struct register_operand operand;

static bool init(struct bench_run *run)
{
	operand = cpu_control_register();
	run->operand = &operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t now = cpu_control_register().value;

	if (operand.value != now) {
		bench_note(run, "loaded %lx, found %lx", operand.value, now);
		return CHECK_FAILED;
	}
	bench_note(run, "the register holds what was loaded");
	return CHECK_PROVED;
}

BENCHMARK(write_control_register) = {
	.name = "write-control-register",
	.category = "privileged",
	.summary = "load the system control register with its own value (privileged)",
	.requires = "",
	.init = init,
	.run = write_control_register_run,
	.control = write_control_register_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
