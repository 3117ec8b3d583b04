/*
 * void answer_events(const struct answer *answer);
 * void answer_events_unpaged(const struct answer *answer);
 * Answer each event from the domain with one of ours, yielding the CPU while none is pending, until another
 * event arrives. The second runs with paging off. Assembly, so that dom0's part of the measured round trip
 * does not depend on the compiler.
 *
 *   in        rdi = answer
 *   clobbers  rax, rcx, rdx, rdi, rsi, r8 to r11
 *   stack     none; the second needs what xen_unpaged.S needs
 *
 * The count is incremented before the answer is sent, so whoever sees the answer also sees the count.
 */
#define EVENT_CHANNEL_OP 32		/* longer names in xen.h */
#define EVENT_SEND	 4
#define SCHED_OP	 29
#define SCHED_POLL	 3

/* rax = hypercall number, rdi and rsi: arguments, r9: vendor */
	.macro xen_call
	test %r9, %r9
	jz 7f
	vmmcall
	jmp 8f
7:	vmcall
8:
	.endm

	.text
	.code64
	.globl answer_events
answer_events:
	mov %rdi, %r8
	mov (%r8), %r9
	mov 24(%r8), %rcx		/* pending */
	mov 32(%r8), %r10		/* bit */
	mov 40(%r8), %r11		/* others */
	mov 48(%r8), %rdx		/* count */
1:	lock btr %r10, (%rcx)
	jnc 2f
	incq (%rdx)
	mov $EVENT_CHANNEL_OP, %eax
	mov $EVENT_SEND, %edi
	mov 8(%r8), %rsi
	xen_call
	jmp 1b
2:	test %r11, (%rcx)
	jnz 3f
	mov $SCHED_OP, %eax
	mov $SCHED_POLL, %edi
	mov 16(%r8), %rsi
	xen_call
	jmp 1b
3:	ret

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
	mov 48(%ebp), %edi		/* count */
5:	lock btr %esi, (%edx)
	jnc 6f
	incl (%edi)
	mov $EVENT_CHANNEL_OP, %eax
	mov $EVENT_SEND, %ebx
	mov 8(%ebp), %ecx
	xen_call_32
	jmp 5b
6:	mov 40(%ebp), %eax		/* others */
	test %eax, (%edx)
	jnz 9f
	mov $SCHED_OP, %eax
	mov $SCHED_POLL, %ebx
	mov 16(%ebp), %ecx
	xen_call_32
	jmp 5b
9:	ret

	.section .note.GNU-stack, "", @progbits
