/*
 * The loop of the rows hypercall (loops/calls.S) and hypercall-fp (loops/floating_point.S), which adds `more`, a
 * macro, to the operation.
 *
 * uint64_t NAME_run(uint64_t iterations, struct hypercall_operand *operand);   also _control
 *
 *   in        x0 = iterations, x1 = operand
 *   out       operand: wrong, last
 *   registers x19 = passes left, x20 = operand, x21 = first, x22 = wanted, x23 = wrong, x24 = number,
 *             x0 = result
 *   stack     x19 to x24
 *   clobbers  flags and, by the calls, x1 to x17
 *
 * One loop for each instruction, so the selection costs nothing.
 */
#include <arch/timed_offsets.h>

/* One of the loops. */
.macro hypercall_passes is_run, label, call, number, more
\label:
	cmp x0, x22
	cinc x23, x23, ne
	mov x0, x21
	mov x1, #0
	mov x16, x24
.if \is_run
	\call \number
	\more
.endif
	subs x19, x19, #1
	b.ne \label\()b
	b 9f
.endm

.macro hypercall is_run, more
	stp x19, x20, [sp, #-48]!
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	mov x19, x0
	mov x20, x1
	ldr x21, [x1, #HYPERCALL_FIRST]
	ldr x22, [x1, #HYPERCALL_WANTED]
	ldr x24, [x1, #HYPERCALL_NUMBER]
	mov x23, #0
	mov x0, x22
	ldr x2, [x1, #HYPERCALL_INSTRUCTION]
	cmp x2, #1
	b.eq 2f
	b.hi 3f
	hypercall_passes \is_run, 1, hvc, #0, \more
	hypercall_passes \is_run, 2, smc, #0, \more
	hypercall_passes \is_run, 3, hvc, #0xea1, \more
9:
	str x0, [x20, #HYPERCALL_LAST]
	ldr x2, [x20, #HYPERCALL_WRONG]
	add x2, x2, x23
	str x2, [x20, #HYPERCALL_WRONG]
	ldp x23, x24, [sp, #32]
	ldp x21, x22, [sp, #16]
	ldp x19, x20, [sp], #48
.endm
