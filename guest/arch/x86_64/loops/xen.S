/* Timed loops of Xen's event channels: event-channel, event-send, event-switch, event-out, event-in. Contract:
 * arch/timed.h; operands: event_channel.h. */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t event_round_run(uint64_t iterations, struct event_channel_operand *operand);   also _control
 * uint64_t event_send_run(uint64_t iterations, struct event_channel_operand *operand);    also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: events, waits
 *   registers r8 = operand, r9 = call (1: VMMCALL), rcx = pending, r10 = bit, rdx = events
 *   clobbers  rax, rdi, rsi (a call's number and arguments; debug builds of Xen change all three), r11, flags
 */
.macro event_begin
	TIMED_COUNT
	mov %rsi, %r8
	mov EVENT_CALL(%r8), %r9
	mov EVENT_PENDING(%r8), %rcx
	mov EVENT_BIT(%r8), %r10
.endm

/* Labels 2, 3. */
.macro xen_call number, command, argument
	mov $\number, %eax
	mov $\command, %edi
	mov \argument, %rsi
	test %r9, %r9
	VENDOR_HYPERCALL
.endm

.macro send_event
	xen_call CALL_EVENT_CHANNEL, EVENT_CHANNEL_SEND, EVENT_SEND(%r8)
.endm

/* Takes the event, and yields the CPU while there is none. Labels 4, 5, and xen_call's. */
.macro await_event
4:
	lock btr %r10, (%rcx)
	jc 5f
	incq EVENT_WAITS(%r8)
	xen_call CALL_SCHED, SCHED_POLL, EVENT_POLL(%r8)
	jmp 4b
5:
.endm

/* The next event is to notify this CPU again. */
.macro clear_notified
	movb $0, VCPU_UPCALL_PENDING - XEN_PENDING_AT(%rcx)
	movq $0, VCPU_PENDING_SEL - XEN_PENDING_AT(%rcx)
.endm

.macro event_round is_run
	event_begin
	mov EVENT_EVENTS(%r8), %rdx
1:
.if \is_run
	send_event
	await_event
	inc %rdx
.endif
	TIMED_NEXT 1b
	mov %rdx, EVENT_EVENTS(%r8)
.endm
	TIMED_PAIR event_round, event_round

/* First takes a pending event and clears the flags that notify this CPU, so that each send does its full
 * work. */
.macro event_send is_run
	event_begin
	mov EVENT_EVENTS(%r8), %rdx
1:
	lock btr %r10, (%rcx)
	adc $0, %rdx
	clear_notified
.if \is_run
	send_event
.endif
	TIMED_NEXT 1b
	mov %rdx, EVENT_EVENTS(%r8)
.endm
	TIMED_PAIR event_send, event_send

/*
 * uint64_t event_switch_run(uint64_t iterations, struct event_latency_operand *operand);   also _control
 * uint64_t event_out_run(uint64_t iterations, struct event_latency_operand *operand);      also _control
 * uint64_t event_in_run(uint64_t iterations, struct event_latency_operand *operand);       also _control
 *
 * Halves of a round trip. Out: from the send to dom0's stamp. In: from that to this domain's handler. Switch: as
 * out, but both domains are on one CPU, and this one yields it.
 *
 *   in        rdi = iterations, rsi = operand
 *   out       rax = ticks; operand: events (answers taken), waits, outside
 *   registers as above, and rbx = sum, r12 = start, both saved; rdx = handled interrupts before; after the wait
 *             rax = end, rsi = stamp
 *   clobbers  rax, rdx, rdi, rsi, r11, flags
 *   stack     rbx, r12
 */

/* Gives dom0 time to wait again. Label 2. */
.macro settle
	rdtsc
	TIMED_JOIN
	mov %rax, %rsi
2:
	pause
	rdtsc
	TIMED_JOIN
	sub %rsi, %rax
	cmp EVENT_SETTLE(%r8), %rax
	jb 2b
.endm

/* Takes the event, spinning. Labels 2, 3. */
.macro spin_for_event
2:
	lock btr %r10, (%rcx)
	jc 3f
	cmpl $0, EVENT_YIELD(%r8)
	je 2b
	pause
	jmp 2b
3:
.endm

/* Waits for the interrupt, and takes its event. Labels 2, 3. */
.macro spin_for_interrupt
	mov EVENT_HANDLED(%r8), %rdi
2:
	cmp HANDLED_COUNT(%rdi), %rdx
	jne 3f
	cmpl $0, EVENT_YIELD(%r8)
	je 2b
	pause
	jmp 2b
3:
	cli
	lock btr %r10, (%rcx)
.endm

/* `half`: switch, out or in. */
.macro event_latency half
	event_begin
	push %rbx
	push %r12
	xor %ebx, %ebx
1:
.ifc \half, switch
	xen_call CALL_SCHED, SCHED_YIELD, $0
.else
	settle
.endif
.ifc \half, in
	clear_notified
	sti
.endif
	TIMED_NOW
	mov %rax, %r12
.ifc \half, in
	mov EVENT_HANDLED(%r8), %rdx
	mov HANDLED_COUNT(%rdx), %rdx
.endif
	send_event
.ifc \half, switch
	await_event
	TIMED_NOW
.endif
.ifc \half, out
	spin_for_event
	TIMED_NOW
.endif
.ifc \half, in
	spin_for_interrupt
	jnc 6f
	mov HANDLED_STAMP(%rdi), %rax
.endif
	incq EVENT_EVENTS(%r8)
	mov EVENT_PAGE(%r8), %rsi
	mov ANSWERS_STAMP(%rsi), %rsi
	add EVENT_AHEAD(%r8), %rsi
	cmp %rsi, %rax
	jb 6f
	cmp %r12, %rsi
	jb 6f
.ifc \half, in
	sub %rsi, %rax
	add %rax, %rbx
.else
	sub %r12, %rsi
	add %rsi, %rbx
.endif
	jmp 7f
6:
	incq EVENT_OUTSIDE(%r8)
7:
	TIMED_NEXT 1b
	mov %rbx, %rax
	pop %r12
	pop %rbx
.endm
	TIMED_EACH_PAIR event_switch, event_latency, switch
	TIMED_EACH_PAIR event_out, event_latency, out
	TIMED_EACH_PAIR event_in, event_latency, in

	.section .note.GNU-stack, "", @progbits
