/*
 * Timed loops of SBI calls: hypercall, hypercall-user, set-timer, remote-fence. Contract, operand:
 * arch/timed.h.
 *
 * uint64_t sbi_run(uint64_t iterations, struct hypercall_operand *operand);   also _control
 *
 *   in        a0 = iterations, a1 = operand
 *   out       operand: wrong, last
 *   registers t6 = passes left, t0 = operand, a7 = extension, a6 = function, t1 = first, t2 = second,
 *             a2 = third, a3 = fourth, t3 = wanted, t4 = wrong, a0 = error, a1 = value
 *   clobbers  t5
 *
 * A call changes only a0 and a1. An error counts as wrong, as does another value.
 */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

.macro sbi is_run
	TIMED_COUNT
	mv t0, a1
	ld a7, CALL_EXTENSION(t0)
	ld a6, CALL_FUNCTION(t0)
	ld t1, CALL_FIRST(t0)
	ld t2, CALL_SECOND(t0)
	ld a2, CALL_THIRD(t0)
	ld a3, CALL_FOURTH(t0)
	ld t3, CALL_WANTED(t0)
	li t4, 0
	li a0, 0
	mv a1, t3
1:
	xor t5, a1, t3
	or t5, t5, a0
	snez t5, t5
	add t4, t4, t5
	mv a0, t1
	mv a1, t2
.if \is_run
	ecall
.endif
	TIMED_NEXT 1b
	ld t5, CALL_WRONG(t0)
	add t5, t5, t4
	sd t5, CALL_WRONG(t0)
	bnez a0, 2f
	mv a0, a1
2:
	sd a0, CALL_LAST(t0)
.endm
	TIMED_PAIR hypercall, sbi
