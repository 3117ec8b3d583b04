/*
 * Marks around timed batches, for a host that takes the time on receipt (HyperBench, 5.1). Called
 * by harness.c, outside of timed_call(), so that what the guest measures itself is the same code
 * with marks and without.
 */
#include "guest/core/external.h"

/*
 * The host tells two marks apart only if it has read the first before the second comes, and its
 * thread needs some time to be woken. So much lies between any two marks: half a millisecond at
 * 4 GHz, a whole one at 2 GHz.
 */
#define GAP_TICKS 2000000

static void wait_ticks(uint64_t ticks)
{
	uint64_t start = rdtimer();

	while (rdtimer() - start < ticks)
		;
}

/*
 * A batch that is shorter than the gap gets a lead: the same wait in front of control and run, so
 * that their difference, the cost, does not hold it. Double the gap is asked for, because the
 * measured batches can be quicker than the trial was.
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
	/* No look at the port first: it was drained before the batch, and has had one byte since. */
	console_put(MARK_END);
}
