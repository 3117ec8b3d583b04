/*
 * The HyperBench rows for x86's descriptor tables and machine status word, on an architecture without them:
 * skips, with the reason and the rows that replace them.
 */
#include "bench.h"

TIMED_LOOP(no_descriptor_tables, TIMED_NOTHING);

#ifdef __riscv
#define SENSITIVE_READS "read-counter is its sensitive read"
#else
#define SENSITIVE_READS "read-id-register and read-cache-type are its sensitive reads"
#endif

static const char *store(const struct params *params)
{
	(void)params;
	return "this architecture has no such register to store: " SENSITIVE_READS;
}

static const char *load(const struct params *params)
{
	(void)params;
	return "this architecture has no segments: write-vector-base is a privileged write of the "
	       "same kind";
}

#define ABSENT(id, row, kind, why)                       \
	BENCHMARK(id) = {                                \
		.name = row,                             \
		.category = kind,                        \
		.summary = "not on this architecture",   \
		.requires = "x86_64",                    \
		.needs = why,                            \
		.run = no_descriptor_tables_run,         \
		.control = no_descriptor_tables_control, \
		.cpus = 1,                               \
		.min_iterations = 10000,                 \
		.max_iterations = 10000000,              \
		.insns_iterations = 1,                   \
		.insns_samples = 64,                     \
	}

ABSENT(sgdt, "sgdt", "unprivileged", store);
ABSENT(sldt, "sldt", "unprivileged", store);
ABSENT(sidt, "sidt", "unprivileged", store);
ABSENT(smsw, "smsw", "unprivileged", store);
ABSENT(lgdt, "lgdt", "privileged", load);
