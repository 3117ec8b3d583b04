/* dom0's side of the event channels (answer.S). */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdint.h>

#include "common/answers_page.h"

/* answer.S uses the offsets. */
struct answer {
	uint64_t amd;		    /* 1: VMMCALL; 0: VMCALL */
	const void *send;	    /* argument of EVTCHNOP_send: the port */
	const void *poll;	    /* argument of SCHEDOP_poll: the ports to wait for */
	volatile uint64_t *pending; /* the word of shared_info with the bits below */
	uint64_t bit;		    /* the event to answer */
	uint64_t others;	    /* mask of the events at which it returns */
	volatile struct answers_page *page;
};

void answer_events(const struct answer *answer);
void answer_events_stamped(const struct answer *answer);
void answer_events_unpaged(const struct answer *answer); /* poll is a struct xen_poll_32 */

#endif
