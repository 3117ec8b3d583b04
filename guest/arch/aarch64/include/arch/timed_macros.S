/*
 * GNU-as macros for timed loops in assembly files: those of arch/aarch64/loops/, and those of benchmarks
 * from outside. The contract of a loop, its free registers among it, is arch/timed.h's.
 *
 * A loop is a macro whose first argument, is_run, says whether the operation is in it. TIMED_PAIR makes
 * NAME_run and NAME_control of it. Labels are numbers, so that they do not become symbols; macros that a loop
 * uses may have labels of their own, which their comments name. The comment of a loop lists what it gets and
 * gives, what it has in registers, and what else it clobbers.
 *
 *	.macro read_twice is_run
 *		TIMED_COUNT
 *	1:
 *	.if \is_run
 *		ldr x2, [x1]
 *		ldr x2, [x1, #8]
 *	.endif
 *		TIMED_NEXT 1b
 *	.endm
 *		TIMED_PAIR read_twice, read_twice
 */

#define TIMED_SECTION .timed
#include "timed_shared_macros.S"

/* ---- Passes timed as a whole ----------------------------------------------------------------- */

/* x17 counts the passes. */
.macro TIMED_COUNT
	mov x17, x0
.endm

.macro TIMED_NEXT pass
	subs x17, x17, #1
	b.ne \pass
.endm

/* ---- Passes timed one by one and summed ------------------------------------------------------ */

/*
 * Ordered reads of the counter: DSB waits until all earlier instructions and their loads and stores have
 * completed, ISB keeps the read from being done early, the second ISB keeps later instructions from
 * starting (DDI 0487, D12.1.2, and its barriers in B2.3.12).
 */
.macro TIMED_CLOCK to, counter
	dsb sy
	isb
	mrs \to, \counter
	isb
.endm

.macro TIMED_NOW to
	TIMED_CLOCK \to, cntvct_el0
.endm

/* The physical counter, also the other side's: hypervisors give guests a virtual one with an offset. */
.macro LATENCY_NOW to
	TIMED_CLOCK \to, cntpct_el0
.endm

/*
 * For rows with SELF_TIMED. x0 counts the passes, x15 is the sum, x14 the time at EACH_START, x16 that at
 * EACH_STOP. A pass begins at label 1; what is between EACH_START and EACH_STOP is timed, the rest of a pass
 * is not.
 */
.macro EACH_BEGIN
	mov x15, #0
.endm

.macro EACH_START
	TIMED_NOW x14
.endm

.macro EACH_STOP
	TIMED_NOW x16
	sub x16, x16, x14
	add x15, x15, x16
.endm

.macro EACH_NEXT
	subs x0, x0, #1
	b.ne 1b
	mov x0, x15
.endm

.macro EACH_NOTHING
	EACH_BEGIN
1:
	EACH_START
	EACH_STOP
	EACH_NEXT
.endm
