/* Idle: two consecutive reads of the clock. Every other figure contains its spread. */
#include "bench.h"

/* No loop: run and control are the same, one pair of reads. */
TIMED_BODY("idle_run", TIMED_NOTHING);
TIMED_BODY("idle_control", TIMED_NOTHING);
TIMED_DECLARE(idle);

/* Always one pair of reads, whatever iters= says. */
static bool init(struct bench_run *run)
{
	run->max_iterations = 1;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t first = rdtimer(), second = rdtimer();

	/* A clock of a few MHz may not advance between a few reads. */
	for (unsigned i = 0; i < 1000 && second == first; i++)
		second = rdtimer();
	bench_note(run, "two more reads were %lu ticks apart", second - first);
	return second > first ? CHECK_PROVED : CHECK_FAILED;
}

BENCHMARK(idle) = {
	.name = "idle",
	.category = "idle",
	.summary = "two consecutive reads of the clock; ideally zero",
	.requires = "",
	.init = init,
	.run = idle_run,
	.control = idle_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 1,
	.insns_iterations = 1,
	.insns_samples = 64,
};
