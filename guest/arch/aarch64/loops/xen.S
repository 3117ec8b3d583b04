/* Timed loops of Xen's event channels: event-channel, event-channel-send, event-switch, event-out, event-in.
 * Contract: arch/timed.h; operands: event_channel.h. */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t event_round_run(uint64_t iterations, struct event_channel_operand *operand);   also _control
 * uint64_t event_send_run(uint64_t iterations, struct event_channel_operand *operand);    also _control
 *
 *   in        x0 = iterations, x1 = operand
 *   out       operand: events, waits
 *   registers x8 = operand, x9 = send, x10 = poll, x11 = pending, x12 = mask of the bit, x13 = events
 *   clobbers  x17, flags; a call changes x0 (its result), x16 and those of x1 to x4 that it uses; taking an
 *             event changes x2 to x4
 */
.macro load_event_operand
	mov x8, x1
	ldp x9, x10, [x8, #EVENT_SEND]		/* send, poll */
	ldp x11, x12, [x8, #EVENT_PENDING]	/* pending, bit */
	mov x2, #1
	lsl x12, x2, x12
	ldr x13, [x8, #EVENT_EVENTS]
.endm

.macro xen_call number, command, argument
	mov x16, #\number
	mov x0, #\command
	mov x1, \argument
	hvc #0xea1
.endm

.macro send_event
	xen_call CALL_EVENT_CHANNEL, EVENT_CHANNEL_SEND, x9
.endm

.macro yield_cpu
	xen_call CALL_SCHED, SCHED_YIELD, #0
.endm

/* Takes the event if it is pending: "ne". `label` is its own. */
.macro take_event label
\label:
	ldaxr x2, [x11]
	bic x3, x2, x12
	stlxr w4, x3, [x11]
	cbnz w4, \label\()b
	tst x2, x12
.endm

/* Takes the event, and yields the CPU while there is none. Labels 4, 5. */
.macro await_event
	take_event 4
	b.ne 5f
	ldr x2, [x8, #EVENT_WAITS]
	add x2, x2, #1
	str x2, [x8, #EVENT_WAITS]
	xen_call CALL_SCHED, SCHED_POLL, x10
	b 4b
5:
.endm

.macro event_round is_run
	TIMED_COUNT
	load_event_operand
1:
.if \is_run
	send_event
	await_event
	add x13, x13, #1
.endif
	TIMED_NEXT 1b
	str x13, [x8, #EVENT_EVENTS]
.endm
	TIMED_PAIR event_round, event_round

/* First takes a pending event and clears the flags that notify this CPU, so that each send does its full
 * work. */
.macro event_send is_run
	TIMED_COUNT
	load_event_operand
1:
	take_event 4
	cinc x13, x13, ne
	sturb wzr, [x11, #(VCPU_UPCALL_PENDING - XEN_PENDING_AT)]
	stur xzr, [x11, #(VCPU_PENDING_SEL - XEN_PENDING_AT)]
.if \is_run
	send_event
.endif
	TIMED_NEXT 1b
	str x13, [x8, #EVENT_EVENTS]
.endm
	TIMED_PAIR event_send, event_send

/*
 * uint64_t event_switch_run(uint64_t iterations, struct event_latency_operand *operand);   also _control
 * uint64_t event_out_run(uint64_t iterations, struct event_latency_operand *operand);      also _control
 * uint64_t event_in_run(uint64_t iterations, struct event_latency_operand *operand);       also _control
 *
 * Halves of a round trip. Out: from the send to the other domain's clock read. In: from that to this domain's
 * handler. Switch: as out, but both domains are on one CPU, and this one yields it.
 *
 *   in        x0 = iterations, x1 = operand
 *   out       x0 = ticks; operand: events (stamps received), waits, outside
 *   registers x15 = sum, x14 = start, x13 = stamps received, x5 = end, x6 = stamp, then what is added;
 *             x7 = handled, x10 = its count before; the others as above
 *   clobbers  x16, x17, flags
 */

/* Gives the other domain time to wait again. Clobbers x5, x6, x14. Label 2. */
.macro settle
	mrs x14, cntpct_el0
	ldr x5, [x8, #EVENT_SETTLE]
2:
	yield
	mrs x6, cntpct_el0
	sub x6, x6, x14
	cmp x6, x5
	b.lo 2b
.endm

/* Takes the event, spinning. Clobbers x5. Labels 2, 3. */
.macro spin_for_event
	ldr x5, [x8, #EVENT_YIELD]
	take_event 2
	b.ne 3f
	cbz x5, 2b
	yield
	b 2b
3:
.endm

/* Waits for the interrupt; they are enabled while it spins. Clobbers x5. Labels 2, 3. */
.macro spin_for_interrupt
	ldr x5, [x8, #EVENT_YIELD]
2:
	ldr x2, [x7, #HANDLED_COUNT]
	cmp x2, x10
	b.ne 3f
	cbz x5, 2b
	yield
	b 2b
3:
	msr daifset, #2
.endm

/* x6 = the stamp: its bits are the upper half of the pending word once bit EVENT_STAMPED_BIT is set; then the
 * whole word is taken. `idle`: what to do until then. Labels 2, 8, 9. */
.macro take_stamp idle
8:
	ldr x2, [x11]
	tbnz x2, #EVENT_STAMPED_BIT, 9f
	\idle
	b 8b
9:
	ldaxr x2, [x11]
	stlxr w4, xzr, [x11]
	cbnz w4, 9b
	add x13, x13, #1
	lsr x6, x2, #32
	and x2, x14, #0xffffffff00000000
	orr x6, x6, x2
	cmp x6, x14
	b.hs 2f
	mov x2, #0x100000000
	add x6, x6, x2
2:
.endm

/* `half`: switch, out or in. */
.macro event_latency half
	TIMED_COUNT
	EACH_BEGIN
	load_event_operand
1:
.ifc \half, switch
	yield_cpu
.else
	settle
.endif
.ifc \half, in
	ldr x7, [x8, #EVENT_HANDLED]
	ldr x10, [x7, #HANDLED_COUNT]
	msr daifclr, #2
.endif
	LATENCY_NOW x14
	send_event
.ifc \half, switch
	await_event
	LATENCY_NOW x5
	take_stamp yield_cpu
.endif
.ifc \half, out
	spin_for_event
	LATENCY_NOW x5
	take_stamp yield
.endif
.ifc \half, in
	spin_for_interrupt
	ldr x5, [x7, #HANDLED_STAMP]
	take_stamp yield
.endif
	cmp x5, x6
	b.lo 6f
.ifc \half, in
	sub x6, x5, x6
.else
	sub x6, x6, x14
.endif
	add x15, x15, x6
	b 7f
6:
	ldr x2, [x8, #EVENT_OUTSIDE]
	add x2, x2, #1
	str x2, [x8, #EVENT_OUTSIDE]
7:
	TIMED_NEXT 1b
	str x13, [x8, #EVENT_EVENTS]
	mov x0, x15
.endm
	TIMED_EACH_PAIR event_switch, event_latency, switch
	TIMED_EACH_PAIR event_out, event_latency, out
	TIMED_EACH_PAIR event_in, event_latency, in
