/* The guest's side of I/O latency (common/latency_page.h). */
#ifndef LATENCY_H
#define LATENCY_H

#include "common/latency_page.h"
#include "timed_shared_offsets.h"

/* Implemented by arch/: fills in how an interrupt reaches this CPU, whose handler stamps and counts. False:
 * not possible. */
_Bool latency_interrupt_fill(struct latency_page *page);
/* The guest's counter, which the other side reads too. */
uint64_t latency_clock(void);
/* Written by the handler. */
struct latency_handled {
	volatile uint64_t count, stamp, found_halted;
};
TIMED_OFFSET(latency_handled, count, HANDLED_COUNT);
TIMED_OFFSET(latency_handled, stamp, HANDLED_STAMP);
TIMED_OFFSET(latency_handled, found_halted, HANDLED_FOUND_HALTED);
TIMED_OFFSET(latency_page, stamps, LATENCY_PAGE_STAMPS);
TIMED_OFFSET(latency_page, stamp, LATENCY_PAGE_STAMP);
extern struct latency_handled latency_handled;

#endif
