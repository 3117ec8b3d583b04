/*
 * void answer_events(const struct answer *answer);
 * Answers each event of the domain's by one of ours, until Xen says that something became of the
 * domain; gives the CPU up while there is none. Assembly, so that what runs inside of the domain's
 * measured round trip is the same from every compiler.
 *
 *   in        rdi = answer
 *   clobbers  rax, rcx, rdx, rdi, rsi, r8 to r11
 *   stack     nothing
 *
 * The count rises before the answer is sent: whoever saw the answer sees it counted.
 */
#define EVENT_CHANNEL_OP 32		/* xen.h has these by longer names */
#define EVENT_SEND	 4
#define SCHED_OP	 29
#define SCHED_POLL	 3

/* rax = number, rdi and rsi: arguments, r9: the vendor */
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
	mov 40(%r8), %r11		/* exception_bit */
	mov 48(%r8), %rdx		/* count */
1:	lock btr %r10, (%rcx)
	jnc 2f
	incq (%rdx)
	mov $EVENT_CHANNEL_OP, %eax
	mov $EVENT_SEND, %edi
	mov 8(%r8), %rsi
	xen_call
	jmp 1b
2:	lock btr %r11, (%rcx)
	jc 3f
	mov $SCHED_OP, %eax
	mov $SCHED_POLL, %edi
	mov 16(%r8), %rsi
	xen_call
	jmp 1b
3:	ret

	.section .note.GNU-stack, "", @progbits
