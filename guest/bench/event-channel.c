/*
 * Xen's event channels, which notify other domains: a round trip to another domain and back, and the
 * notification alone. Two rows.
 */
#include "event_round.h"

TIMED_DECLARE(event_round);
TIMED_DECLARE(event_send);

static struct event_channel_operand round, own, idle;
static uint64_t answered_before;

static const char *needs_other(const struct params *params)
{
	return event_channel_to_other(&round, params, params->channel);
}

static bool init_round(struct bench_run *run)
{
	answered_before = event_round_start(run, &round);
	run->operand = &round;
	idle = round;
	run->control_operand = &idle;
	return true;
}

static enum check check_round(struct bench_run *run)
{
	return event_round_check(run, &round, answered_before);
}

static bool init_send(struct bench_run *run)
{
	if (!event_channel_loop_back(&own)) {
		run->reason = "Xen gives this domain no event channel to itself";
		return false;
	}
	run->operand = &own; /* for both loops: each takes the previous pass's event */
	return true;
}

static enum check check_send(struct bench_run *run)
{
	uint64_t seen;

	timed_call(event_send_control, 1, &own); /* takes the last event */
	seen = own.events;
	bench_note(run, "%lu events sent, %lu came", run->total, seen);
	return seen == run->total ? CHECK_PROVED : CHECK_FAILED;
}

BENCHMARK(event_round) = {
	.name = "event-channel",
	.category = "io",
	.summary = "event to another domain (Xen), until its answer is seen",
	.requires = "Xen, and a domain that answers",
	.needs = needs_other,
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
	.needs = event_channel_needs,
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
