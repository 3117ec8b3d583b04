/* dom0's end of the event channel (answer.S). */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdint.h>

/* answer.S knows the offsets. */
struct answer {
	uint64_t amd;		    /* 1: VMMCALL; 0: VMCALL */
	const void *send;	    /* EVTCHNOP_send's argument: the port */
	const void *poll;	    /* SCHEDOP_poll's: the ports to wait for */
	volatile uint64_t *pending; /* the word of shared_info with the bits below */
	uint64_t bit;		    /* the event to be answered */
	uint64_t others;	    /* a mask: events at which it returns */
	volatile uint64_t *count;   /* how many were answered */
};

void answer_events(const struct answer *answer);
void answer_events_unpaged(const struct answer *answer); /* poll: a struct xen_poll_32 */

#endif
