/*
 * Timed loops of interrupts and their controller: ipi, interrupt-controller-trap, timer. Contract, operands:
 * arch/timed.h, arch/timed_exits.h.
 */
#include <arch/cpu.h>
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t ipi_run(uint64_t iterations, struct ipi_operand *operand);   also _control
 *
 *   in        a0 = iterations, a1 = operand
 *   out       a0 = ticks
 *   registers t5 = sum, t4 = start, t6 = operand, t2 = passes left, a7 = extension, a6 = function, a0 = mask,
 *             a1 = hart, a2 = received, a3 = yield, a4 = received before, a5 = received now; when settling
 *             a2 = ready, a4 = passes left
 *   clobbers  t3
 *
 * Between two IPIs it waits until the receiver rests again, and some PAUSEs more.
 */
.macro ipi is_run
	EACH_BEGIN
	mv t6, a1
	mv t2, a0
	li a7, SBI_IPI
	li a6, SBI_IPI_SEND
1:
	EACH_START
.if \is_run
	ld a1, IPI_HART(t6)
	ld a2, IPI_RECEIVED(t6)
	ld a3, IPI_YIELD(t6)
	ld a4, 0(a2)
	li a0, 1			/* of the harts from a1 on: the first */
	ecall
3:
	ld a5, 0(a2)
	bne a5, a4, 5f
	beqz a3, 3b
	PAUSE
	j 3b
5:
.endif
	EACH_STOP
	ld a2, IPI_READY(t6)
6:
	PAUSE
	ld a4, 0(a2)
	beqz a4, 6b
	ld a4, IPI_SETTLE_PASSES(t6)
7:
	PAUSE
	addi a4, a4, -1
	bnez a4, 7b
	addi t2, t2, -1
	bnez t2, 1b
	mv a0, t5
.endm
	TIMED_PAIR ipi, ipi

/*
 * uint64_t interrupt_controller_trap_run(uint64_t iterations, struct controller_operand *operand);
 * also _control
 *
 *   in        a0 = iterations, a1 = operand
 *   out       operand: value
 *   registers a2 = address, a3 = value
 *   clobbers  t6
 */
.macro controller_access is_run
	TIMED_COUNT
	ld a2, CONTROLLER_ADDRESS(a1)
	li a3, 0
1:
.if \is_run
	lwu a3, 0(a2)
.endif
	TIMED_NEXT 1b
	sd a3, CONTROLLER_VALUE(a1)
.endm
	TIMED_PAIR interrupt_controller_trap, controller_access

/*
 * uint64_t timer_run(uint64_t iterations, struct timer_operand *operand);   also _control
 *
 * A deadline `ticks` ahead; gives up 32 times as many ticks later (a busy host may be late). The handler
 * stamps and disables the timer. The deadline goes to stimecmp (Sstc), or by an SBI call.
 *
 *   in        a0 = iterations, a1 = operand
 *   out       a0 = ticks from the deadlines to the stamps; operand: early
 *   registers t5 = sum, t4 = deadline; t6 = operand, t2 = passes left, a2 = ticks, a3 = handled, a4 = its
 *             count before, a5 = its count now, then lateness; t0 = the end of waiting, t1 = now
 *   clobbers  t3, a0, a1, a6, a7
 */
.macro timer
	EACH_BEGIN
	mv t6, a1
	mv t2, a0
1:
	ld a2, TIMER_TICKS(t6)
	ld a3, TIMER_HANDLED(t6)
	ld a4, HANDLED_COUNT(a3)
	ld t3, TIMER_SSTC(t6)
	LATENCY_NOW t4
	add t4, t4, a2
	slli t0, a2, 5
	add t0, t0, t4
	beqz t3, 2f
	csrw CSR_STIMECMP, t4
	j 3f
2:
	li a7, SBI_TIMER
	li a6, SBI_TIMER_SET
	mv a0, t4
	ecall
3:
	li t3, SIE_TIMER
	csrs sie, t3
	csrsi sstatus, SSTATUS_SIE
4:
	ld a5, HANDLED_COUNT(a3)
	bne a5, a4, 5f
	rdtime t1
	bltu t1, t0, 4b
5:
	csrci sstatus, SSTATUS_SIE
	ld a5, HANDLED_STAMP(a3)
	bgeu a5, t4, 6f
	ld t1, TIMER_EARLY(t6)
	addi t1, t1, 1
	sd t1, TIMER_EARLY(t6)
	mv a5, t4
6:
	sub a5, a5, t4
	add t5, t5, a5
	addi t2, t2, -1
	bnez t2, 1b
	mv a0, t5
.endm
	TIMED_EACH_PAIR timer, timer
