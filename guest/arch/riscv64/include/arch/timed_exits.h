/* riscv64 operations that may require the hypervisor. The contract is timed.h's. */
#ifndef TIMED_EXITS_H
#define TIMED_EXITS_H

#include "latency.h"
#include <arch/timed.h>

/* A deadline `ticks` ahead; gives up 32 times as many ticks later (a busy host may be late). The handler
 * stamps and disables the timer. */
struct timer_operand {
	uint64_t ticks;
	struct latency_handled *handled;
	uint64_t early;
	uint64_t sstc; /* 1: by the register stimecmp; 0: by an SBI call */
};
TIMED_OFFSET(timer_operand, ticks, TIMER_TICKS);
TIMED_OFFSET(timer_operand, handled, TIMER_HANDLED);
TIMED_OFFSET(timer_operand, early, TIMER_EARLY);
TIMED_OFFSET(timer_operand, sstc, TIMER_SSTC);
/* Always NULL. The loop enables the interrupt; timer_stop() disables it. */
const char *timer_operand_fill(struct timer_operand *operand);
void timer_stop(void);

/* An SBI call that sets the timer to a deadline that never comes. */
struct hypercall_operand set_timer_operand(void);
/* An SBI call that only our own monitor answers, in user space. */
struct hypercall_operand user_call_operand(void);
/* An SBI call that drops another CPU's translations of one page. False: there is no such CPU. */
bool remote_fence_operand_fill(struct hypercall_operand *operand, unsigned cpu);

#endif
