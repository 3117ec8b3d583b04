/* The timed loops of the rows hypercall-fp and in-fp, whose operation ends with a use of floating point.
 * Contract, operands: arch/timed.h. */
#include <arch/timed_macros.S>
#include <arch/timed_hypercall.S>

	/* C has general registers only (guest/Makefile). */
	.arch_extension fp

/* Not in the control, where it would take the trap that the operation before it left behind. */
.macro use_fp
	fmov d0, d1
.endm

	TIMED_PAIR hypercall_fp, hypercall, use_fp

/*
 * uint64_t in_fp_run(uint64_t iterations, struct port_operand *operand);   also _control
 *
 *   in        x0 = iterations, x1 = operand
 *   out       operand: value
 *   registers x2 = port, w3 = value
 *   clobbers  x17, flags, v0
 */
.macro in_fp is_run
	TIMED_COUNT
	ldr x2, [x1, #PORT_PORT]
	ldr w3, [x1, #PORT_VALUE]
1:
.if \is_run
	ldrb w3, [x2]
	use_fp
.endif
	TIMED_NEXT 1b
	str w3, [x1, #PORT_VALUE]
.endm
	TIMED_PAIR in_fp, in_fp
