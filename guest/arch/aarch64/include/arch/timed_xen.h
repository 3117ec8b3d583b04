/* Timed loops for Xen's event channels: sending an event, and waiting for one. The contract is
 * timed.h's. */
#ifndef TIMED_XEN_H
#define TIMED_XEN_H

#include "event_channel.h"
#include <arch/timed.h>

/* Offset of the pending event words in the shared information page: after one vcpu_info of 48 bytes. */
#define XEN_PENDING_AT 48

/* x8 = operand, x9 = send, x10 = poll, x11 = pending, x12 = mask of the bit, x13 = events. A call changes
 * x0 (its result), x16 and those of x1 to x4 that it uses; taking an event changes x2 to x4. */
#define EVENT_OPERAND \
	"mov x8, x1\n\tldp x9, x10, [x8, #8]\n\tldp x11, x12, [x8, #24]\n\tmov x2, #1\n\tlsl x12, x2, x12\n\tldr x13, [x8, #40]"
/* xen.h's XEN_EVENT_CHANNEL_OP, XEN_EVENT_SEND; XEN_SCHED_OP, XEN_SCHED_POLL and XEN_SCHED_YIELD */
#define OP_EVENT_SEND "mov x16, #32\n\tmov x0, #4\n\tmov x1, x9\n\thvc #0xea1"
#define EVENT_POLL    "mov x16, #29\n\tmov x0, #3\n\tmov x1, x10\n\thvc #0xea1\n\t"
#define EVENT_YIELD   "mov x16, #29\n\tmov x0, #0\n\tmov x1, #0\n\thvc #0xea1"
/* Sets "ne" if there was an event. */
#define EVENT_TAKE(label)                                                                       \
	label ":\tldaxr x2, [x11]\n\tbic x3, x2, x12\n\tstlxr w4, x3, [x11]\n\tcbnz w4, " label \
	      "b\n\ttst x2, x12\n\t"
#define EVENT_WAIT                                                                           \
	EVENT_TAKE("4")                                                                      \
	"b.ne 5f\n\tldr x2, [x8, #48]\n\tadd x2, x2, #1\n\tstr x2, [x8, #48]\n\t" EVENT_POLL \
	"b 4b\n5:"

#define TIMED_EVENT_ROUND(name)                                                                 \
	TIMED_PAIR(name, EVENT_OPERAND, "", OP_EVENT_SEND "\n" EVENT_WAIT "\tadd x13, x13, #1", \
		   "str x13, [x8, #40]")
/* Takes a pending event and clears the flags that notify this CPU (struct vcpu_info: the byte
 * evtchn_upcall_pending, the word evtchn_pending_sel), so that each send does its full work. */
#define TIMED_EVENT_SEND(name)                                                                       \
	TIMED_PAIR(                                                                                  \
		name, EVENT_OPERAND,                                                                 \
		EVENT_TAKE(                                                                          \
			"4") "cinc x13, x13, ne\n\tsturb wzr, [x11, #-48]\n\tstur xzr, [x11, #-40]", \
		OP_EVENT_SEND, "str x13, [x8, #40]")

/*
 * Halves of a round trip: from the send to the other domain's clock read, or from that to this domain's
 * handler. Clock and contract as for LATENCY_BODY in timed.h. x15 = sum, x14 = start, x13 = stamps
 * received, x5 = end, x6 = stamp: its bits are the upper half of the pending word once bit 31 is set; then
 * the whole word is taken.
 */
#define EVENT_LATENCY_BODY(symbol, before, wait, end, idle, value)                                 \
	TIMED_BODY(                                                                                \
		symbol,                                                                            \
		"mov x17, x0\n\tmov x15, #0\n\t" EVENT_OPERAND "\n1:\t" before "\n\t" LATENCY_NOW( \
			"x14") "\n\t" OP_EVENT_SEND "\n" wait "\n\t" end                           \
			       "\n8:\tldr x2, [x11]\n\ttbnz x2, #31, 9f\n\t" idle                  \
			       "\n\tb 8b\n9:\tldaxr x2, [x11]\n\tstlxr w4, xzr, "                  \
			       "[x11]\n\tcbnz w4, 9b\n\tadd x13, x13, #1\n\tlsr x6, x2, "          \
			       "#32\n\tand x2, x14, #0xffffffff00000000\n\torr x6, x6, "           \
			       "x2\n\tcmp x6, x14\n\tb.hs 2f\n\tmov x2, #0x100000000\n\tadd x6, "  \
			       "x6, x2\n2:\tcmp x5, x6\n\tb.lo 6f\n\t" value                       \
			       "\n\tadd x15, x15, x6\n\tb 7f\n6:\tldr x2, [x8, #96]\n\tadd "       \
			       "x2, x2, #1\n\tstr x2, [x8, #96]\n7:\tsubs x17, x17, "              \
			       "#1\n\tb.ne 1b\n\tstr x13, [x8, #40]\n\tmov x0, x15")
#define EVENT_LATENCY_PAIR(name, before, wait, end, idle, value)          \
	EVENT_LATENCY_BODY(#name "_run", before, wait, end, idle, value); \
	TIMED_EACH_BODY(#name "_control", "", "", "");                    \
	TIMED_DECLARE(name)
/* Gives the other domain time to wait again. */
#define EVENT_SETTLE                                                                             \
	"mrs x14, cntpct_el0\n\tldr x5, [x8, #112]\n2:\tyield\n\tmrs x6, cntpct_el0\n\tsub x6, " \
	"x6, x14\n\tcmp x6, x5\n\tb.lo 2b"
#define EVENT_SPIN \
	"\tldr x5, [x8, #88]\n" EVENT_TAKE("2") "b.ne 3f\n\tcbz x5, 2b\n\tyield\n\tb 2b\n3:"
/* Both domains are on one CPU, and this one yields it. */
#define TIMED_EVENT_SWITCH(name)                                                          \
	EVENT_LATENCY_PAIR(name, EVENT_YIELD, EVENT_WAIT, LATENCY_NOW("x5"), EVENT_YIELD, \
			   "sub x6, x6, x14")
#define TIMED_EVENT_OUT(name)                                                          \
	EVENT_LATENCY_PAIR(name, EVENT_SETTLE, EVENT_SPIN, LATENCY_NOW("x5"), "yield", \
			   "sub x6, x6, x14")
/* Interrupts are enabled while it spins. The handler's count and stamp: latency.h. */
#define EVENT_BEFORE_INTERRUPT "\n\tldr x7, [x8, #104]\n\tldr x10, [x7]\n\tmsr daifclr, #2"
#define EVENT_INTERRUPTED                                                                              \
	"\tldr x5, [x8, #88]\n2:\tldr x2, [x7]\n\tcmp x2, x10\n\tb.ne 3f\n\tcbz x5, 2b\n\tyield\n\tb " \
	"2b\n3:\tmsr daifset, #2"
#define TIMED_EVENT_IN(name)                                                             \
	EVENT_LATENCY_PAIR(name, EVENT_SETTLE EVENT_BEFORE_INTERRUPT, EVENT_INTERRUPTED, \
			   "ldr x5, [x7, #8]", "yield", "sub x6, x5, x6")

#endif
