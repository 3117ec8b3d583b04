/*
 * GNU-as macros for timed loops in assembly files: those of arch/riscv64/loops/, and those of benchmarks
 * from outside. The contract of a loop, its free registers among it, is arch/timed.h's.
 *
 * A loop is a macro whose first argument, is_run, says whether the operation is in it. TIMED_PAIR makes
 * NAME_run and NAME_control of it. Labels are numbers, so that they do not become symbols; macros that a loop
 * uses may have labels of their own, which their comments name. The comment of a loop lists what it gets and
 * gives, what it has in registers, and what else it clobbers.
 *
 * Instructions are not compressed, as assemblers differ in what they compress.
 */

#define TIMED_SECTION .timed
#include "timed_shared_macros.S"

	.option norvc

/* ---- Passes timed as a whole ----------------------------------------------------------------- */

/* t6 counts the passes. */
.macro TIMED_COUNT
	mv t6, a0
.endm

.macro TIMED_NEXT pass
	addi t6, t6, -1
	bnez t6, \pass
.endm

/* ---- Passes timed one by one and summed ------------------------------------------------------ */

/* An ordered read of the counter. FENCE takes a read of the counter for device input (Unprivileged
 * Architecture, "Zicsr", on the order of CSR accesses). */
.macro TIMED_NOW to
	fence iorw, iorw
	rdtime \to
	fence iorw, iorw
.endm

/* The other side reads the same counter. */
.macro LATENCY_NOW to
	TIMED_NOW \to
.endm

/* Tells an emulator that the CPU waits. */
.macro PAUSE
	.4byte 0x0100000f
.endm

/*
 * For rows with SELF_TIMED. a0 counts the passes, t5 is the sum, t4 the time at EACH_START, t3 that at
 * EACH_STOP. A pass begins at label 1; what is between EACH_START and EACH_STOP is timed, the rest of a pass
 * is not.
 */
.macro EACH_BEGIN
	li t5, 0
.endm

.macro EACH_START
	TIMED_NOW t4
.endm

.macro EACH_STOP
	TIMED_NOW t3
	sub t3, t3, t4
	add t5, t5, t3
.endm

.macro EACH_NEXT
	addi a0, a0, -1
	bnez a0, 1b
	mv a0, t5
.endm

.macro EACH_NOTHING
	EACH_BEGIN
1:
	EACH_START
	EACH_STOP
	EACH_NEXT
.endm
