/* Timed loops of Xen's event channels: event-channel, event-channel-send. Contract: arch/timed.h; operands:
 * event_channel.h. */
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
	mov EVENT_EVENTS(%r8), %rdx
.endm

/* Labels 2, 3. */
.macro xen_call number, command, argument
	mov $\number, %eax
	mov $\command, %edi
	mov \argument, %rsi
	test %r9, %r9
	VENDOR_HYPERCALL
.endm

/* Sends, and takes the answer. Labels 4, 5, and xen_call's. */
.macro event_round is_run
	event_begin
1:
.if \is_run
	xen_call CALL_EVENT_CHANNEL, EVENT_CHANNEL_SEND, EVENT_SEND(%r8)
4:
	lock btr %r10, (%rcx)
	jc 5f
	incq EVENT_WAITS(%r8)
	xen_call CALL_SCHED, SCHED_POLL, EVENT_POLL(%r8)
	jmp 4b
5:
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
1:
	lock btr %r10, (%rcx)
	adc $0, %rdx
	movb $0, VCPU_UPCALL_PENDING - XEN_PENDING_AT(%rcx)
	movq $0, VCPU_PENDING_SEL - XEN_PENDING_AT(%rcx)
.if \is_run
	xen_call CALL_EVENT_CHANNEL, EVENT_CHANNEL_SEND, EVENT_SEND(%r8)
.endif
	TIMED_NEXT 1b
	mov %rdx, EVENT_EVENTS(%r8)
.endm
	TIMED_PAIR event_send, event_send

	.section .note.GNU-stack, "", @progbits
