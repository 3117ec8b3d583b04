/* The floating-point registers, for the checks of their benchmarks: arch/floating_point.h. */

	/* C has general registers only (guest/Makefile). */
	.arch_extension fp

	.macro for_each_register what
	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	\what \number
	.endr
	.endm

	/* The value of a register: its number, and of the first two 1. */
	.macro value_of number
	.if \number
	mov x1, #\number
	.else
	mov x1, #1
	.endif
	.endm

	.macro fill_one number
	value_of \number
	fmov d\number, x1
	.endm

	.macro compare_one number
	value_of \number
	fmov x2, d\number
	cmp x1, x2
	cinc x0, x0, ne
	.endm

	.text
/* void fp_fill(void);   clobbers x1, v0 to v31 */
	.globl fp_fill
fp_fill:
	for_each_register fill_one
	ret

/* uint64_t fp_changed(void);   clobbers x1, x2, flags */
	.globl fp_changed
fp_changed:
	mov x0, #0
	for_each_register compare_one
	ret

	.section .note.GNU-stack, "", %progbits
