/* Read Cache Type: reads how the caches are made, as any program may. */
#include "bench.h"

TIMED_READ_CACHE_TYPE(read_cache_type);

static struct register_operand operand;

static bool init(struct bench_run *run)
{
	operand = (struct register_operand){ 0 };
	run->operand = &operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t now = cpu_cache_type();

	if (operand.value != now) {
		bench_note(run, "read %lx, found %lx", operand.value, now);
		return CHECK_FAILED;
	}
	bench_note(run, "the last read gave what the register gives now");
	return CHECK_PROVED;
}

BENCHMARK(read_cache_type) = {
	.name = "read-cache-type",
	.category = "unprivileged",
	.summary = "read how the caches are made (unprivileged, sensitive)",
	.requires = "",
	.init = init,
	.run = read_cache_type_run,
	.control = read_cache_type_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
