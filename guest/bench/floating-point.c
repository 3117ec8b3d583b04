/*
 * A hypercall, and an exit to the monitor, of a guest that uses floating point: it has state in the vector
 * registers when it exits, and uses one right after. That use is part of the operation, as it traps where the
 * hypervisor gave the registers to something else. Two rows.
 */
#include "shared_phases.h"
#include <arch/floating_point.h>

TIMED_DECLARE(hypercall_fp);
TIMED_DECLARE(in_fp);

static void fill(void *unused)
{
	(void)unused;
	fp_fill();
}

static const char *needs(void)
{
	const char *reason = fp_begin();
	struct fault fault;

	if (reason)
		return reason;
	if (!try_call(fill, NULL, &fault))
		reason = "floating point raises an exception here";
	fp_end();
	return reason;
}

static const char *needs_hypercall(const struct params *params)
{
	const char *reason = hypercall_needs(params);

	return reason ? reason : needs();
}

static const char *needs_port(const struct params *params)
{
	const char *reason = in_needs(params);

	return reason ? reason : needs();
}

static void begin(void)
{
	fp_begin();
	fp_fill();
}

static bool init_hypercall(struct bench_run *run)
{
	begin();
	return hypercall_init(run);
}

static bool init_in(struct bench_run *run)
{
	begin();
	return in_init(run);
}

static bool kept(struct bench_run *run)
{
	uint64_t changed = fp_changed();

	if (changed)
		bench_note(run, "%lu of 32 floating-point registers were lost", changed);
	return !changed;
}

static enum check check_hypercall(struct bench_run *run)
{
	return kept(run) ? hypercall_check(run) : CHECK_FAILED;
}

static enum check check_in(struct bench_run *run)
{
	return kept(run) ? in_check(run) : CHECK_FAILED;
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	fp_end();
}

BENCHMARK(hypercall_fp) = {
	.name = "hypercall-fp",
	.category = "exception",
	.summary = "hypercall of a guest that uses floating point, and its next use",
	.requires = "a hypervisor that answers hypercalls, floating point",
	.needs = needs_hypercall,
	.init = init_hypercall,
	.run = hypercall_fp_run,
	.control = hypercall_fp_control,
	.check = check_hypercall,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 1000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_HYPERCALL,
};

BENCHMARK(in_fp) = {
	.name = "in-fp",
	.category = "io",
	.summary = "read a byte from a port while using floating point, and its next use",
	.requires = "floating point",
	.needs = needs_port,
	.init = init_in,
	.run = in_fp_run,
	.control = in_fp_control,
	.check = check_in,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 1000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_IN_PORT,
};
