/* A workload of known events: each pass reads a port three times, touches a page that nothing has
 * touched and makes a hypercall. `worldswitch show --native` predicts its cost from the suite's benchmarks
 * (docs/method.md, "Is the model right?"), without having seen it. The loop is in mixed.S. */
#include "bench.h"

#define PAGE_BYTES 4096

/* What the loop needs, and what it leaves. mixed.S has the offsets. */
struct mixed_operand {
	uint64_t at;	 /* the page before the next pass's */
	uint64_t number; /* of the hypercall */
	uint64_t amd;	 /* 1: VMMCALL, 0: VMCALL */
	uint64_t port;
	uint64_t last; /* what the last hypercall gave */
};
_Static_assert(sizeof(struct mixed_operand) == 40, "five words, in mixed.S too");
TIMED_DECLARE(mixed);

/* KVM: a number that means nothing gives -KVM_ENOSYS. */
#define KVM_UNKNOWN 0x7fffffff
#define KVM_ENOSYS  1000

static struct mixed_operand operand, control_operand;

static const char *needs(const struct params *params)
{
	return params->hypercall == HYPERCALL_KVM ? NULL : "it makes KVM's hypercalls";
}

static bool init(struct bench_run *run)
{
	/* Pages of its own for each batch, and for the trials. */
	uint64_t batches = run->samples + TRIAL_BATCHES, most = run->max_iterations, pages, pa;

	if (run->params->iters)
		most = run->params->iters;
	else if (run->params->unit == UNIT_INSNS)
		most = 64;
	if (most > untouched_pages(PAGE_BYTES) / batches)
		most = untouched_pages(PAGE_BYTES) / batches;
	run->max_iterations = most;
	pages = most * batches;
	pa = untouched_take(PAGE_BYTES, pages);
	run->reason = "too few untouched pages: lower samples=, or give the machine more memory";
	if (!pa)
		return false;
	for (uint64_t i = 0; i < pages; i++)
		if (!install_pte(window_base() + i * PAGE_BYTES, pa + i * PAGE_BYTES, PAGE_BYTES))
			return false;
	operand = (struct mixed_operand){
		.at = window_base() - PAGE_BYTES, /* each pass moves on first */
		.number = KVM_UNKNOWN,
		.amd = cpu_is_amd(),
		.port = run->params->in_port,
	};
	control_operand = operand;
	run->operand = &operand;
	run->control_operand = &control_operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t used = 0;

	for (uint64_t i = 0; i < run->total; i++)
		used += page_accessed(window_base() + i * PAGE_BYTES);
	bench_note(run, "%lu of %lu pages used, the last hypercall gave %lx", used, run->total,
		   operand.last);
	return used == run->total && operand.last == 0 - (uint64_t)KVM_ENOSYS ? CHECK_UNPROVEN
									      : CHECK_FAILED;
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	window_clear();
}

BENCHMARK(mixed) = {
	.name = "mixed",
	.category = "mixed",
	.summary = "three port reads, a page that nothing has touched and a hypercall",
	.requires = "a KVM that answers hypercalls, untouched memory",
	.needs = needs,
	.init = init,
	.run = mixed_run,
	.control = mixed_control,
	.check = check,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 64,
	.max_iterations = 64,
	.insns_iterations = 64,
	.insns_samples = 16,
	.parameters = PARAM_IN_PORT | PARAM_HYPERCALL,
};
