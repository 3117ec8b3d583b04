/*
 * Marks around timed batches, for a host that times them on receipt (HyperBench, 5.1). They are sent
 * outside timed_call(), so that the guest's own measurement runs the same code with and without marks.
 */
#include "guest/core/external.h"

/*
 * The minimum between two marks: the host must read the first before the second arrives, and its thread
 * takes time to wake. Half a millisecond at 4 GHz, one at 2 GHz.
 */
#define GAP_TICKS 2000000

static void wait_ticks(uint64_t ticks)
{
	uint64_t start = rdtimer();

	while (rdtimer() - start < ticks)
		;
}

/*
 * A batch shorter than the gap gets a lead: the same wait before control and run, so it cancels in their
 * difference, the cost. The threshold is twice the gap, because the measured batches can be faster than the
 * trial.
 */
struct external external_for(uint64_t shortest_batch_ticks)
{
	return (struct external){
		.lead_ticks = shortest_batch_ticks < 2 * GAP_TICKS ? GAP_TICKS : 0,
	};
}

void external_ready(void)
{
	console_drained();
	wait_ticks(GAP_TICKS);
}

void external_begin(const struct external *external, enum mark mark)
{
	console_put((uint8_t)mark);
	if (external->lead_ticks)
		wait_ticks(external->lead_ticks);
}

void external_end(void)
{
	/* No status read: the port was drained before the batch, and has had only one byte since. */
	console_put(MARK_END);
}
