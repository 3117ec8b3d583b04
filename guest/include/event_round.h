/* Shared by the rows that measure an event's round trip to another domain (bench/event-channel.c,
 * unpaged.c). */
#ifndef EVENT_ROUND_H
#define EVENT_ROUND_H

#include "bench.h"
#include "event_channel.h"

/* Events answered, as counted by the other domain if they share memory; otherwise the answers seen: only
 * that domain can set the bit. */
static inline uint64_t event_round_answered(const struct bench_run *run,
					    const struct event_channel_operand *channel)
{
	return run->params->answers ? *(volatile uint64_t *)run->params->answers : channel->events;
}

/* Returns the number answered so far. */
static inline uint64_t event_round_start(const struct bench_run *run,
					 struct event_channel_operand *channel)
{
	channel->events = channel->waits = 0;
	return event_round_answered(run, channel);
}

static inline enum check event_round_check(struct bench_run *run,
					   const struct event_channel_operand *channel,
					   uint64_t before)
{
	uint64_t more = event_round_answered(run, channel) - before;

	bench_note(run, "%lu events sent, %lu answered, %lu answers seen; waited %lu times",
		   run->total, more, channel->events, channel->waits);
	return more == run->total && channel->events == run->total ? CHECK_PROVED : CHECK_FAILED;
}

#endif
