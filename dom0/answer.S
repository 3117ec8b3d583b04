/*
 * void answer_events(const struct answer *answer);
 * void answer_events_stamped(const struct answer *answer);
 * void answer_events_unpaged(const struct answer *answer);
 * Answer each event from the domain with one of ours, yielding the CPU while none is pending, until another
 * event arrives. The second first writes the time at which it took the event; the third runs with paging off.
 * Assembly, so that dom0's part of the measured round trip does not depend on the compiler.
 *
 *   in        rdi = answer
 *   clobbers  rax, rcx, rdx, rdi, rsi, r8 to r11
 *   stack     none; the third needs what xen_unpaged.S needs
 *
 * The count is incremented before the answer is sent, so whoever sees the answer also sees the count.
 */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/* rax = hypercall number, rdi and rsi: arguments, r9: vendor */
	.macro xen_call
	test %r9, %r9
	jz 7f
	vmmcall
	jmp 8f
7:	vmcall
8:
	.endm

/* After an answer with the time, until the domain has taken it: as all CPUs of an emulator may take turns, what
 * dom0 did meanwhile would be in the domain's figures. PAUSE ends dom0's turn. */
#define UNTIL_TAKEN 20000		/* ticks */

	.macro answer_until_others stamped
	mov %rdi, %r8
	mov (%r8), %r9
	mov 24(%r8), %rcx		/* pending */
	mov 32(%r8), %r10		/* bit */
	mov 40(%r8), %r11		/* others */
	mov 48(%r8), %rdx		/* page */
1:	lock btr %r10, (%rcx)
	jnc 2f
	.if \stamped
	TIMED_NOW
	mov 48(%r8), %rdx
	mov %rax, ANSWERS_STAMP(%rdx)
	.endif
	incq ANSWERS_ANSWERED(%rdx)
	mov $CALL_EVENT_CHANNEL, %eax
	mov $EVENT_CHANNEL_SEND, %edi
	mov 8(%r8), %rsi
	xen_call
	.if \stamped
4:	pause
	rdtsc
	TIMED_JOIN
	mov 48(%r8), %rdx
	sub ANSWERS_STAMP(%rdx), %rax
	cmp $UNTIL_TAKEN, %rax
	jb 4b
	.endif
	jmp 1b
2:	test %r11, (%rcx)
	jnz 3f
	mov $CALL_SCHED, %eax
	mov $SCHED_POLL, %edi
	mov 16(%r8), %rsi
	xen_call
	jmp 1b
3:	ret
	.endm

	.text
	.code64
	.globl answer_events
answer_events:
	answer_until_others 0

	.globl answer_events_stamped
answer_events_stamped:
	answer_until_others 1

	.globl answer_events_unpaged
answer_events_unpaged:
	mov %rdi, %rsi
	lea 4f(%rip), %rax
	jmp xen_unpaged

/* eax = hypercall number, ebx and ecx: arguments */
	.macro xen_call_32
	cmpl $0, (%ebp)
	je 7f
	vmmcall
	jmp 8f
7:	vmcall
8:
	.endm

/* Uses the lower half of each field: event numbers are below 32, and the counts do not overflow. */
	.code32
4:	mov %esi, %ebp
	mov 24(%ebp), %edx		/* pending */
	mov 32(%ebp), %esi		/* bit */
	mov 48(%ebp), %edi		/* page */
5:	lock btr %esi, (%edx)
	jnc 6f
	incl ANSWERS_ANSWERED(%edi)
	mov $CALL_EVENT_CHANNEL, %eax
	mov $EVENT_CHANNEL_SEND, %ebx
	mov 8(%ebp), %ecx
	xen_call_32
	jmp 5b
6:	mov 40(%ebp), %eax		/* others */
	test %eax, (%edx)
	jnz 9f
	mov $CALL_SCHED, %eax
	mov $SCHED_POLL, %ebx
	mov 16(%ebp), %ecx
	xen_call_32
	jmp 5b
9:	ret

	.section .note.GNU-stack, "", @progbits
