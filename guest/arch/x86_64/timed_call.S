/*
 * struct timed timed_call(timed_loop *loop, uint64_t iterations, void *operand);
 *
 *   in        rdi = loop, rsi = iterations, rdx = operand
 *   out       rax = batch_ticks, rdx = own_ticks
 *   clobbers  the caller-saved registers
 *   stack     rbx, r12, and 8 bytes that align the loop's frame
 *
 * The marker (xchg %bx, %bx) costs one instruction outside the timed part. The reads of the counter are
 * ordered as explained at TIMED_CLOCK in arch/timed_macros.S. Position independent, so that a digest of
 * these bytes does not change with the image around them.
 */
#include <arch/timed_macros.S>

	.section .text.timed, "ax", @progbits
	.p2align 6
	.globl timed_call
	.type timed_call, @function
timed_call:
	push %rbx
	push %r12
	sub $8, %rsp
	mov %rdi, %rbx
	mov %rsi, %rdi
	mov %rdx, %rsi
	xchg %bx, %bx
	TIMED_NOW
	mov %rax, %r12
	call *%rbx
	mov %rax, %rbx
	TIMED_CLOCK
	xchg %bx, %bx
	TIMED_JOIN
	sub %r12, %rax
	mov %rbx, %rdx
	add $8, %rsp
	pop %r12
	pop %rbx
	ret
	.size timed_call, . - timed_call

/*
 * void pad_loop(uint64_t passes);   in rdi; clobbers rdi, flags
 */
	.p2align 6
	.globl pad_loop
	.type pad_loop, @function
pad_loop:
	test %rdi, %rdi
	jz 2f
1:	dec %rdi
	jnz 1b
2:	ret
	.size pad_loop, . - pad_loop

/*
 * void timed_return(void);   ends at timed_return_end
 */
	.text
	.globl timed_return, timed_return_end
	.type timed_return, @function
timed_return:
	ret
timed_return_end:
	.size timed_return, . - timed_return

	.section .note.GNU-stack, "", @progbits
