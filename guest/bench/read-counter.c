/* Read Counter: reads the counter of cycles, which hypervisors may keep for themselves. */
#include "exit_row.h"

TIMED_READ_COUNTER(read_counter);

static struct register_operand operand;

static void one(void *argument)
{
	read_counter_run(1, argument);
}

static const char *needs(const struct params *params)
{
	struct fault fault;

	(void)params;
	return try_call(one, &operand, &fault) ? NULL
					       : "reading the cycle counter raised an exception";
}

static bool init(struct bench_run *run)
{
	operand = (struct register_operand){ 0 };
	run->operand = &operand;
	return true;
}

/* A hypervisor without counters for guests may give 0. */
static enum check check(struct bench_run *run)
{
	bench_note(run, "the last read gave %lu; only the host can count exits", operand.value);
	return CHECK_UNPROVEN;
}

EXIT_ROW(read_counter, "read-counter", "unprivileged",
	 "read the cycle counter (unprivileged, sensitive)", "", needs, init, check, read_counter,
	 0);
