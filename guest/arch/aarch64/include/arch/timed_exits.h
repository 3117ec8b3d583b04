/* aarch64 operations that may require the hypervisor, and that kvm-unit-tests' `micro-bench` also times.
 * The contract is timed.h's. */
#ifndef TIMED_EXITS_H
#define TIMED_EXITS_H

#include "guest/include/its.h"
#include "latency.h"
#include <arch/timed.h>

/* Adds one command to the ring and waits a bounded time for the handler, which counts. */
struct lpi_operand {
	struct its_ring ring;
	struct latency_handled *handled;
};
#define BEFORE_LPI                                                                          \
	"ldp x2, x3, [x1]\n\tadd x3, x3, #32\n\tand x3, x3, #0xfff\n\tstr x3, [x1, #8]\n\t" \
	"ldr x4, [x1, #16]\n\tldr x5, [x4]\n\tmov x7, #0x4000000\n\tmsr daifclr, #2"
#define OP_LPI \
	"str x3, [x2]\n2:\tldr x6, [x4]\n\tcmp x6, x5\n\tb.ne 3f\n\tsubs x7, x7, #1\n\tb.ne 2b\n3:"
#define TIMED_LPI(name)                                                       \
	TIMED_EACH_BODY(#name "_run", BEFORE_LPI, OP_LPI, "msr daifset, #2"); \
	TIMED_EACH_BODY(#name "_control", "", "", "");                        \
	TIMED_DECLARE(name)
/* Call it once. NULL, or why there are no LPIs. */
const char *lpi_operand_fill(struct lpi_operand *operand);

/* A deadline `ticks` ahead; gives up 32 times as many ticks later (a busy host may be late). The handler
 * stamps and disables the timer. x15 = sum, x14 = deadline. */
struct timer_operand {
	uint64_t ticks;
	struct latency_handled *handled;
	uint64_t early;
};
#define TIMED_TIMER(name)                                                                             \
	TIMED_BODY(                                                                                   \
		#name "_run",                                                                         \
		"mov x15, #0\n1:\tldp x2, x4, [x1]\n\tldr x5, [x4]\n\tmov x3, #1\n\t" LATENCY_NOW(    \
			"x14") "\n\tmsr cntv_tval_el0, x2\n\tmsr cntv_ctl_el0, x3\n\tmsr "            \
			       "daifclr, #2\n\tadd x14, x14, x2\n\tadd x7, x14, x2, lsl #5\n2:\tldr " \
			       "x6, [x4]\n\tcmp x6, x5\n\tb.ne 3f\n\tmrs x8, cntpct_el0\n\tcmp "      \
			       "x8, x7\n\tb.lo 2b\n3:\tmsr daifset, #2\n\tldr x6, [x4, "              \
			       "#8]\n\tsubs x6, x6, x14\n\tb.hs 4f\n\tldr x6, [x1, "                  \
			       "#16]\n\tadd x6, x6, #1\n\tstr x6, [x1, #16]\n\tmov x6, "              \
			       "#0\n4:\tadd x15, x15, x6\n\tsubs x0, x0, #1\n\tb.ne "                 \
			       "1b\n\tmov x0, x15");                                                  \
	TIMED_EACH_BODY(#name "_control", "", "", "");                                                \
	TIMED_DECLARE(name)
/* Enables the current level's virtual timer interrupt; timer_stop() disables it. NULL, or why it is not
 * possible. */
const char *timer_operand_fill(struct timer_operand *operand);
void timer_stop(void);

#endif
