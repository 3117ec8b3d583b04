/*
 * Halves of a round trip over Xen's event channels (Dall et al. 2015, Table 1: on Xen VM Switch, I/O
 * Latency Out and In): from this domain's event to the other domain, on the same CPU or another, and from
 * the other domain's event to this domain's handler.
 */
#include "event_round.h"

TIMED_DECLARE(event_switch);
TIMED_DECLARE(event_out);
TIMED_DECLARE(event_in);

#define SETTLE_TICKS 40000 /* after the last stamp, until the other domain waits again */

static struct event_latency_operand operand;
static uint64_t answered_before;

static const char *needs(const struct params *params)
{
	uint32_t port = params->channel ? params->channel + EVENT_CHANNEL_STAMPED : 0;

	const char *reason = event_channel_to_other(&operand.channel, params, port);

	return reason ? reason : event_stamps_fill(&operand, params);
}

static bool init(struct bench_run *run)
{
	operand.yield = run->params->unit == UNIT_INSNS;
	operand.outside = 0;
	answered_before = event_round_start(run, &operand.channel);
	operand.handled = &latency_handled;
	operand.settle_ticks = SETTLE_TICKS;
	run->operand = &operand;
	return true;
}

static bool init_in(struct bench_run *run)
{
	run->reason = "events can't interrupt here";
	if (!event_channel_interrupts(true))
		return false;
	latency_handled = (struct latency_handled){ 0 };
	return init(run);
}

static enum check verdict(const struct bench_run *run)
{
	uint64_t answered = event_round_answered(run, &operand.channel) - answered_before;

	return answered == run->total && operand.channel.events == run->total && !operand.outside
		       ? CHECK_PROVED
		       : CHECK_FAILED;
}

static enum check check(struct bench_run *run)
{
	bench_note(run, "%lu events sent, %lu stamps, %lu of them outside; waited %lu times",
		   run->total, operand.channel.events, operand.outside, operand.channel.waits);
	return verdict(run);
}

static enum check check_in(struct bench_run *run)
{
	bench_note(run, "%lu events sent, %lu stamps, %lu of them outside; %lu interrupts",
		   run->total, operand.channel.events, operand.outside, latency_handled.count);
	return latency_handled.count == run->total ? verdict(run) : CHECK_FAILED;
}

static void cleanup_in(struct bench_run *run)
{
	(void)run;
	event_channel_interrupts(false);
}

#define EVENT_ROW(id, title, kind, words, prepare, judge, after, how_many)                      \
	BENCHMARK_ROW(id, title, kind, words, "Xen, and a domain that answers", needs, prepare, \
		      judge, id, .cleanup = after, .cpus = how_many, .min_iterations = 1,       \
		      .max_iterations = 1000, .parameters = SELF_TIMED | PARAM_HYPERCALL)

EVENT_ROW(event_switch, "event-switch", "exception",
	  "event to another domain (Xen) on the same CPU, until that runs", init, check, NULL, 1);
EVENT_ROW(event_out, "event-out", "io", "event (Xen) until a domain on another CPU has seen it",
	  init, check, NULL, 2);
EVENT_ROW(event_in, "event-in", "io",
	  "event of another domain (Xen) until the running guest's handler", init_in, check_in,
	  cleanup_in, 2);
