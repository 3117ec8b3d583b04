/* Write Vector Base: loads the base of the exception vectors with its current value. */
#include "bench.h"

TIMED_DECLARE(write_vector_base);

static struct register_operand operand;

static bool init(struct bench_run *run)
{
	operand = cpu_vector_base();
	run->operand = &operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t now = cpu_vector_base().value;

	if (operand.value != now) {
		bench_note(run, "loaded %lx, found %lx", operand.value, now);
		return CHECK_FAILED;
	}
	bench_note(run, "the register holds what was loaded");
	return CHECK_PROVED;
}

BENCHMARK(write_vector_base) = {
	.name = "write-vector-base",
	.category = "privileged",
	.summary = "load the exception vectors' base with its own value (privileged)",
	.requires = "",
	.init = init,
	.run = write_vector_base_run,
	.control = write_vector_base_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
