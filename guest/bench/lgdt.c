/* LGDT: loads the GDT register with its current value. */
#include "bench.h"

TIMED_LOOP(lgdt, OP_LOAD_GDTR);

/* The check reads the register back with the sgdt row's operation. */
extern timed_loop sgdt_run;

static struct table_register loaded;

static bool init(struct bench_run *run)
{
	loaded = cpu_gdtr();
	run->operand = &loaded;
	return true;
}

static enum check check(struct bench_run *run)
{
	struct table_register after = { 0 };

	sgdt_run(1, &after);
	if (after.base != loaded.base || after.limit != loaded.limit) {
		bench_note(run, "loaded %lx/%x, found %lx/%x", loaded.base, loaded.limit,
			   after.base, after.limit);
		return CHECK_FAILED;
	}
	bench_note(run, "the register holds what was loaded");
	return CHECK_PROVED;
}

BENCHMARK(lgdt) = {
	.name = "lgdt",
	.category = "privileged",
	.summary = "load the GDT register with its own value (privileged)",
	.requires = "",
	.init = init,
	.run = lgdt_run,
	.control = lgdt_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
};
