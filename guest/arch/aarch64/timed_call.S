/*
 * struct timed timed_call(timed_loop *loop, uint64_t iterations, void *operand);
 *
 *   in        x0 = loop, x1 = iterations, x2 = operand
 *   out       x0 = batch_ticks, x1 = own_ticks
 *   clobbers  the caller-saved registers
 *   stack     x19, x30
 *
 * The marker (mov x27, x27) costs one instruction outside the timed part. The reads of the counter are
 * ordered as explained at TIMED_CLOCK in arch/timed_macros.S. Position independent, so that a digest of
 * these bytes does not change with the image around them.
 */
#include <arch/timed_macros.S>

	.section .timed, "ax", %progbits
	.p2align 6
	.globl timed_call
	.type timed_call, %function
timed_call:
	stp x19, x30, [sp, #-16]!
	mov x9, x0
	mov x0, x1
	mov x1, x2
	mov x27, x27
	TIMED_NOW x19
	blr x9
	TIMED_NOW x9
	mov x27, x27
	mov x1, x0
	sub x0, x9, x19
	ldp x19, x30, [sp], #16
	ret
	.size timed_call, . - timed_call

/*
 * void pad_loop(uint64_t passes);   in x0; clobbers x0, flags
 */
	.p2align 6
	.globl pad_loop
	.type pad_loop, %function
pad_loop:
	cbz x0, 2f
1:	subs x0, x0, #1
	b.ne 1b
2:	ret
	.size pad_loop, . - pad_loop

/*
 * void timed_return(void);   ends at timed_return_end
 */
	.text
	.p2align 2
	.globl timed_return, timed_return_end
	.type timed_return, %function
timed_return:
	ret
timed_return_end:
	.size timed_return, . - timed_return
