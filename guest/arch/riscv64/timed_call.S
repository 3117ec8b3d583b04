/*
 * struct timed timed_call(timed_loop *loop, uint64_t iterations, void *operand);
 *
 *   in        a0 = loop, a1 = iterations, a2 = operand
 *   out       a0 = batch_ticks, a1 = own_ticks
 *   clobbers  the caller-saved registers
 *   stack     s0, ra
 *
 * The marker (mv t6, t6) costs one instruction outside the timed part. The reads of the counter are
 * ordered as explained at TIMED_NOW in arch/timed_macros.S. Position independent, so that a digest of
 * these bytes does not change with the image around them.
 */
#include <arch/timed_macros.S>

	.section .timed, "ax", %progbits
	.p2align 6
	.globl timed_call
	.type timed_call, %function
timed_call:
	addi sp, sp, -16
	sd s0, 0(sp)
	sd ra, 8(sp)
	mv t0, a0
	mv a0, a1
	mv a1, a2
	mv t6, t6
	TIMED_NOW s0
	jalr t0
	TIMED_NOW t0
	mv t6, t6
	mv a1, a0
	sub a0, t0, s0
	ld s0, 0(sp)
	ld ra, 8(sp)
	addi sp, sp, 16
	ret
	.size timed_call, . - timed_call

/*
 * void pad_loop(uint64_t passes);   in a0
 */
	.p2align 6
	.globl pad_loop
	.type pad_loop, %function
pad_loop:
	beqz a0, 2f
1:	addi a0, a0, -1
	bnez a0, 1b
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
