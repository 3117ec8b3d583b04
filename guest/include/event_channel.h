/* Xen's event channels for benchmarks (platform/xen.c; loops: arch/ARCH/loops/xen.S). */
#ifndef EVENT_CHANNEL_H
#define EVENT_CHANNEL_H

#include "latency.h"
#include "posih.h"
#include "timed_shared_offsets.h"
#include "guest/include/xen.h"

struct event_channel_operand {
	uint64_t call;		    /* xen_call_kind() */
	const void *send;	    /* argument of EVTCHNOP_send: the port */
	const void *poll;	    /* argument of SCHEDOP_poll */
	volatile uint64_t *pending; /* the word of shared_info with the bit below */
	uint64_t bit;		    /* pending when an event has arrived */
	uint64_t events;	    /* events taken */
	uint64_t waits;		    /* times that none was pending and the CPU was yielded */
	uint32_t port;
	struct xen_poll poll_argument;
};
TIMED_OFFSET(event_channel_operand, call, EVENT_CALL);
TIMED_OFFSET(event_channel_operand, send, EVENT_SEND);
TIMED_OFFSET(event_channel_operand, poll, EVENT_POLL);
TIMED_OFFSET(event_channel_operand, pending, EVENT_PENDING);
TIMED_OFFSET(event_channel_operand, bit, EVENT_BIT);
TIMED_OFFSET(event_channel_operand, events, EVENT_EVENTS);
TIMED_OFFSET(event_channel_operand, waits, EVENT_WAITS);

/*
 * Halves of a round trip, for which the other domain reports when it took the event. This uses the port
 * above channel=.
 *
 * x86_64: dom0 writes its time to the page at answers= (common/answers_page.h), then answers. On the port
 * after that it is asked for its clocks, as its TSC is not this domain's.
 *
 * aarch64: the other domain first answers; then, for each set bit n of its counter's lower 32 bits, it sends
 * an event on EVENT_STAMP + n, and one on EVENT_STAMPED. Events, because two domains need not share memory.
 */
#define EVENT_CHANNEL_STAMPED 1
#define EVENT_CHANNEL_CLOCK   2
#define EVENT_STAMPED	      31
#define EVENT_STAMP	      32
_Static_assert(EVENT_STAMPED == EVENT_STAMPED_BIT, "assembly uses it");

struct event_latency_operand {
	struct event_channel_operand channel;
	uint64_t yield;	  /* as for IPIs */
	uint64_t outside; /* passes whose stamp was not between the guest's own */
	struct latency_handled *handled;
	uint64_t settle_ticks; /* between two passes, not timed */
	/* x86_64: */
	const volatile struct answers_page *page;
	uint64_t ahead; /* this domain's counter less dom0's */
};
TIMED_OFFSET(event_latency_operand, channel, 0);
TIMED_OFFSET(event_latency_operand, yield, EVENT_YIELD);
TIMED_OFFSET(event_latency_operand, outside, EVENT_OUTSIDE);
TIMED_OFFSET(event_latency_operand, handled, EVENT_HANDLED);
TIMED_OFFSET(event_latency_operand, settle_ticks, EVENT_SETTLE);
TIMED_OFFSET(event_latency_operand, page, EVENT_PAGE);
TIMED_OFFSET(event_latency_operand, ahead, EVENT_AHEAD);
TIMED_OFFSET(answers_page, answered, ANSWERS_ANSWERED);
TIMED_OFFSET(answers_page, stamp, ANSWERS_STAMP);

/* NULL, or why there are no event channels. */
const char *event_channel_needs(const struct params *params);
/* Fills an operand for the channel at `port`. False: Xen provides no shared information page. */
bool event_channel_fill(struct event_channel_operand *operand, uint32_t port);
/* ... for a new channel from this domain to itself. False: Xen refused. */
bool event_channel_loop_back(struct event_channel_operand *operand);
/* ... for `port` (0: none), a channel to a domain that answers events. NULL, or why it can't be used. */
const char *event_channel_to_other(struct event_channel_operand *operand,
				   const struct params *params, uint32_t port);
/* Takes that port's event, yielding the CPU while there is none. False: none comes. */
bool event_channel_take(struct event_channel_operand *operand, unsigned port);
/* Implemented by arch/: prepares for the stamps of the other domain, which has just answered on this channel.
 * NULL, or why it has none. */
const char *event_stamps_fill(struct event_latency_operand *operand, const struct params *params);
/* Makes events interrupt this CPU, whose handler fills latency_handled, or stops that. False: not
 * possible. */
bool event_channel_interrupts(bool on);

#endif
