/*
 * _Noreturn void xen_answer_events(struct xen_answer *answer);
 * Answers each event of the other domain with one of ours on the same channel; on the second channel also
 * with the lower 32 bits of the time at which it was taken (event_channel.h). Yields the CPU while none is
 * pending. Assembly, so that this domain's part of the measured round trip does not depend on the compiler.
 *
 *   in        x0 = answer
 *   clobbers  all registers that it names
 *   stack     none
 */
#define EVENT_CHANNEL_OP 32		/* longer names in xen.h and event_channel.h */
#define EVENT_SEND	 4
#define SCHED_OP	 29
#define SCHED_POLL	 3
#define STAMPED		 31
#define STAMP		 32
#define UNTIL_STAMP	 10000		/* ticks, after which the answer was received and handled */

	/* Sends on the port at \at. */
	.macro send at
	mov x16, #EVENT_CHANNEL_OP
	mov x0, #EVENT_SEND
	mov x1, \at
	hvc #0xea1
	.endm

	.text
	.globl xen_answer_events
xen_answer_events:
	mov x8, x0			/* the ports */
	add x9, x0, #4
	add x15, x0, #40		/* of a stamp's bits */
	ldp x10, x11, [x8, #8]		/* poll, pending */
	ldp x12, x13, [x8, #24]		/* the bits of both channels */
	orr x14, x12, x13
1:	ldaxr x5, [x11]
	bic x3, x5, x14
	stlxr w4, x3, [x11]
	cbnz w4, 1b
	tst x5, x13
	b.ne 3f
	tst x5, x12
	b.eq 2f
	send x8
	b 1b
2:	mov x16, #SCHED_OP
	mov x0, #SCHED_POLL
	mov x1, x10
	hvc #0xea1
	b 1b

3:	isb
	mrs x6, cntpct_el0
	send x9
	mov w3, #UNTIL_STAMP
5:	yield
	mrs x2, cntpct_el0
	sub x2, x2, x6
	cmp x2, x3
	b.lo 5b
	mov w7, #STAMP
4:	tbz x6, #0, 5f
	str w7, [x15]
	send x15
5:	lsr x6, x6, #1
	add w7, w7, #1
	cmp w7, #STAMP + 32
	b.ne 4b
	mov w7, #STAMPED
	str w7, [x15]
	send x15
	b 1b

	.section .note.GNU-stack, "", %progbits
