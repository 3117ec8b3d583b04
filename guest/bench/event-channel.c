/*
 * Event channels of Xen, by which domains notify each other: a round trip to another domain and
 * back, between domains with and without paging, and the sending alone. Three rows.
 */
#include "bench.h"
#include "timed_xen_unpaged.h"

TIMED_EVENT_ROUND(event_round);
TIMED_UNPAGED_EVENT_ROUND(event_round_unpaged);
TIMED_EVENT_SEND(event_send);

static struct event_channel_operand round, own, idle;
static uint64_t answered_before;

static const char *needs_xen(const struct params *params)
{
	return params->hypercall == HYPERCALL_XEN ? NULL
						  : "event channels are Xen's: hypercall=xen says "
						    "where it answers";
}

static volatile uint64_t *answers(const struct params *params)
{
	return (volatile uint64_t *)params->answers;
}

/* `fill` for the end of the channel at `port`. */
static const char *needs_other(const struct params *params, uint32_t port,
			       bool (*fill)(struct event_channel_operand *, uint32_t))
{
	const char *reason = needs_xen(params);

	if (reason)
		return reason;
	if (!port || !params->answers)
		return "channel= and channel-unpaged= name no channel: no other domain answers "
		       "events here";
	if (!fill(&round, port))
		return "Xen gives this domain no shared information page";
	if (!event_channel_answers(&round))
		return "the domain at the other end of the channel does not answer";
	return NULL;
}

static const char *needs_paged(const struct params *params)
{
	return needs_other(params, params->channel, event_channel_fill);
}

static const char *needs_unpaged(const struct params *params)
{
	return needs_other(params, params->channel_unpaged, event_channel_fill_unpaged);
}

static bool init_round(struct bench_run *run)
{
	round.events = round.waits = 0;
	answered_before = *answers(run->params);
	run->operand = &round;
	idle = round;
	run->control_operand = &idle;
	return true;
}

static enum check check_round(struct bench_run *run)
{
	uint64_t answered = *answers(run->params) - answered_before;

	bench_note(run, "%lu events sent, %lu answered, %lu answers seen; waited %lu times",
		   run->total, answered, round.events, round.waits);
	return answered == run->total && round.events == run->total ? CHECK_PROVED : CHECK_FAILED;
}

static bool init_send(struct bench_run *run)
{
	if (!event_channel_loop_back(&own)) {
		run->reason = "Xen gives this domain no event channel to itself";
		return false;
	}
	run->operand = &own; /* of both loops: each takes the event of the pass before */
	return true;
}

static enum check check_send(struct bench_run *run)
{
	uint64_t seen;

	timed_call(event_send_control, 1, &own); /* takes the last one */
	seen = own.events;
	bench_note(run, "%lu events sent, %lu came", run->total, seen);
	return seen == run->total ? CHECK_PROVED : CHECK_FAILED;
}

BENCHMARK(event_round) = {
	.name = "event-channel",
	.category = "io",
	.summary = "event to another domain (Xen), until its answer is seen",
	.requires = "Xen, and a domain that answers",
	.needs = needs_paged,
	.init = init_round,
	.run = event_round_run,
	.control = event_round_control,
	.check = check_round,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 1000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_HYPERCALL,
};

BENCHMARK(event_send) = {
	.name = "event-send",
	.category = "io",
	.summary = "event (Xen) to the domain itself: the notification alone",
	.requires = "Xen",
	.needs = needs_xen,
	.init = init_send,
	.run = event_send_run,
	.control = event_send_control,
	.check = check_send,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 1000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_HYPERCALL,
};

BENCHMARK(event_round_unpaged) = {
	.name = "event-channel-unpaged",
	.category = "io",
	.summary = "the same round trip between domains that run with paging off",
	.requires = "Xen, and a domain that answers so",
	.needs = needs_unpaged,
	.init = init_round,
	.run = event_round_unpaged_run,
	.control = event_round_unpaged_control,
	.check = check_round,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 1000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_HYPERCALL | SELF_TIMED,
};
