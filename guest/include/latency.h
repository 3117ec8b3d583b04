/* The guest's side of I/O latency (common/latency_page.h). */
#ifndef LATENCY_H
#define LATENCY_H

#include "common/latency_page.h"

/* What arch/ has for it: fills how an interrupt reaches this CPU, whose handler stamps and counts. False:
 * it can't be reached. */
_Bool latency_interrupt_fill(struct latency_page *page);
/* The guest's counter, as the other side has it too. */
uint64_t latency_clock(void);
/* Its handler's. Assembly knows the offsets. */
struct latency_handled {
	volatile uint64_t count, stamp, found_halted;
};
extern struct latency_handled latency_handled;

#endif
