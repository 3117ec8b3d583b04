/* SIDT: stores the IDT register to memory. */
#include "bench.h"

TIMED_LOOP(sidt, OP_STORE_IDTR);

static struct table_register stored;

static bool init(struct bench_run *run)
{
	stored = (struct table_register){ 0 };
	run->operand = &stored;
	return true;
}

static enum check check(struct bench_run *run)
{
	struct table_register own = cpu_idtr();

	if (stored.base != own.base || stored.limit != own.limit) {
		bench_note(run, "stored %lx/%x, but the IDT lies at %lx/%x", stored.base,
			   stored.limit, own.base, own.limit);
		return CHECK_FAILED;
	}
	bench_note(run, "the stored base and limit are those of the guest's own IDT");
	return CHECK_PROVED;
}

BENCHMARK(sidt) = {
	.name = "sidt",
	.category = "unprivileged",
	.summary = "store the IDT register to memory (unprivileged, sensitive)",
	.requires = "",
	.init = init,
	.run = sidt_run,
	.control = sidt_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
