/* Xen's event channels as benchmarks use them (platform/xen.c; loops: arch/timed_xen.h). */
#ifndef EVENT_CHANNEL_H
#define EVENT_CHANNEL_H

#include "latency.h"
#include "posih.h"
#include "guest/platform/xen.h"

/* Assembly knows the offsets. */
struct event_channel_operand {
	uint64_t call;		    /* xen_call_kind() */
	const void *send;	    /* EVTCHNOP_send's argument: the port */
	const void *poll;	    /* SCHEDOP_poll's */
	volatile uint64_t *pending; /* the word of shared_info with the bit below */
	uint64_t bit;		    /* pending when an event has come */
	uint64_t events;	    /* how many came */
	uint64_t waits;		    /* how often there was none yet, and the CPU was given up */
	uint32_t port;
	struct xen_poll poll_argument;
};

/*
 * The halves of a round trip, where the other domain tells when it took the event: the next port above
 * channel= is for that. It answers first, and then sends an event on EVENT_STAMP + n for each bit n that its
 * counter had of the lower 32, and one on EVENT_STAMPED: two domains need not have memory in common.
 */
#define EVENT_CHANNEL_STAMPED 1
#define EVENT_STAMPED	      31
#define EVENT_STAMP	      32

struct event_latency_operand {
	struct event_channel_operand channel;
	uint64_t yield;	  /* as for IPIs */
	uint64_t outside; /* passes whose stamp was not between the guest's own */
	struct latency_handled *handled;
	uint64_t settle_ticks; /* between two passes, not timed */
};
_Static_assert(sizeof(struct event_channel_operand) == 88, "assembly knows what stands behind");

/* NULL, or why there are no event channels. */
const char *event_channel_needs(const struct params *params);
/* Fills an operand for the channel at `port`. False: Xen gives no shared information page. */
bool event_channel_fill(struct event_channel_operand *operand, uint32_t port);
/* ... for a new channel from this domain to itself. False: Xen refuses one. */
bool event_channel_loop_back(struct event_channel_operand *operand);
/* ... for the port, 0 if there is none, of a channel to a domain that answers events, and tells by others when
 * it took one if they are stamped. NULL, or why it can't be used. */
const char *event_channel_to_other(struct event_channel_operand *operand,
				   const struct params *params, uint32_t port, bool stamped);
/* Has events interrupt this CPU, whose handler fills latency_handled; or no more. False: they can't. */
bool event_channel_interrupts(bool on);

#endif
