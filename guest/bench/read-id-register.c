/* Read ID Register: reads what the CPU says of its features. Hypervisors trap it, to say less. */
#include "bench.h"

TIMED_READ_ID_REGISTER(read_id_register);

static struct register_operand operand;

static bool init(struct bench_run *run)
{
	operand = (struct register_operand){ 0 };
	run->operand = &operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t now = cpu_id_register();

	if (operand.value != now) {
		bench_note(run, "read %lx, found %lx", operand.value, now);
		return CHECK_FAILED;
	}
	bench_note(run, "the last read gave what the register gives now");
	return CHECK_PROVED;
}

BENCHMARK(read_id_register) = {
	.name = "read-id-register",
	.category = "unprivileged",
	.summary = "read a register that tells the CPU's features (sensitive)",
	.requires = "",
	.init = init,
	.run = read_id_register_run,
	.control = read_id_register_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
