/* dom0's end of the event channel (answer.S). */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdint.h>

/* answer.S knows the offsets. */
struct answer {
	uint64_t amd;		    /* 1: VMMCALL; 0: VMCALL */
	const void *send;	    /* EVTCHNOP_send's argument: the port */
	const void *poll;	    /* SCHEDOP_poll's: both ports */
	volatile uint64_t *pending; /* the word of shared_info with the bits below */
	uint64_t bit;		    /* an event to be answered */
	uint64_t exception_bit;	    /* something became of the domain */
	volatile uint64_t *count;   /* how many were answered */
};

void answer_events(const struct answer *answer);

#endif
