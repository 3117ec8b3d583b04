/*
 * The entry of traps, try_call()'s frame, and the handlers of the guest's own interrupts. Everything else goes
 * to exception_taken() and does not return.
 */
#include <arch/cpu.h>
#include <arch/timed_offsets.h>

	.text
	.option norvc

	/* Adds one to the 64-bit counter \symbol; clobbers t1, t2. */
	.macro count symbol
	la t1, \symbol
	li t2, 1
	amoadd.d.aqrl zero, t2, (t1)
	.endm

	/* Jumps to \label unless t0 lies in [\from, \to]. Clobbers t1. */
	.macro unless_within from, to, label
	la t1, \from
	bltu t0, t1, \label
	la t1, \to
	bgtu t0, t1, \label
	.endm

	.balign 64
	.globl trap_entry
trap_entry:
	addi sp, sp, -48
	sd t0, 0(sp)
	sd t1, 8(sp)
	sd t2, 16(sp)
	sd t3, 24(sp)
	csrr t0, scause
	bltz t0, 1f
	andi sp, sp, -16
	call exception_taken
	j stand_still
1:
	andi t0, t0, 0xff
	li t1, CAUSE_SOFTWARE
	beq t0, t1, software
	li t1, CAUSE_TIMER
	beq t0, t1, timer
	li t1, CAUSE_EXTERNAL
	beq t0, t1, external
	call exception_taken
	j stand_still

/*
 * The handler of on_cpu()'s interrupt. It counts where it interrupted its CPU: in the halt instruction of
 * cpu_rest_loop, in its waiting loop, or elsewhere. `ready` is cleared before `ipi_received` is
 * incremented: a sender that sees its interrupt counted must not take an old `ready` for a CPU that waits
 * again.
 */
software:
	csrci sip, SIE_SOFTWARE
	csrr t0, sepc
	unless_within rest_halted, rest_halted_end, 1f
	count ipi_found_halted
	j 2f
1:
	unless_within rest_spin, rest_spin_end, 2f
	count ipi_found_running
2:
	sd zero, CPU_READY(tp)
	count ipi_received
	j leave

/* Latency rows: stamps, counts, and checks whether WFI was two instructions before. Between the two is what unmasks
 * interrupts. */
timer:
	li t0, SIE_TIMER
	csrc sie, t0
	j stamp
external:
	csrrw zero, CSR_STOPEI, zero	/* takes and ends it */
stamp:
	fence iorw, iorw
	rdtime t0
	la t1, latency_handled
	sd t0, HANDLED_STAMP(t1)
	csrr t0, sepc
	li t2, WFI_CODE
	lwu t3, -8(t0)
	bne t3, t2, 2f
	ld t0, HANDLED_FOUND_HALTED(t1)
	addi t0, t0, 1
	sd t0, HANDLED_FOUND_HALTED(t1)
2:
	ld t0, HANDLED_COUNT(t1)
	addi t0, t0, 1
	sd t0, HANDLED_COUNT(t1)
leave:
	ld t0, 0(sp)
	ld t1, 8(sp)
	ld t2, 16(sp)
	ld t3, 24(sp)
	addi sp, sp, 48
	sret

/*
 * bool try_enter(void (*fn)(void *), void *arg, struct try_frame *frame);
 *   in   a0 = fn, a1 = arg, a2 = frame (its first word keeps the stack pointer)
 *   out  true when fn returned, false when try_leave() abandoned it
 *   stack at the kept pointer: ra, s0 to s11, sstatus
 */
	.globl try_enter
try_enter:
	addi sp, sp, -112
	sd ra, 0(sp)
	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	sd s\number, 8 + 8 * \number(sp)
	.endr
	csrr t0, sstatus
	andi t0, t0, SSTATUS_SIE
	sd t0, 104(sp)
	sd sp, 0(a2)
	mv t0, a0
	mv a0, a1
	jalr t0
	li a0, 1
	j try_return

/*
 * _Noreturn void try_leave(struct try_frame *frame);   in a0
 */
	.globl try_leave
try_leave:
	ld sp, 0(a0)
	li a0, 0
try_return:
	csrci sstatus, SSTATUS_SIE
	ld t0, 104(sp)
	csrs sstatus, t0
	ld ra, 0(sp)
	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	ld s\number, 8 + 8 * \number(sp)
	.endr
	addi sp, sp, 112
	ret

/*
 * _Noreturn void cpu_rest_loop(void);   tp: this CPU's struct cpu
 * How every CPU but the first waits: halted, or in a loop if its `spin` is set. WFI also wakes for a masked
 * interrupt, so that none is missed between the check and the WFI.
 */
	.globl cpu_rest_loop
cpu_rest_loop:
	csrci sstatus, SSTATUS_SIE
	ld t0, CPU_SPIN(tp)
	li t1, 1
	bnez t0, 1f
	sd t1, CPU_READY(tp)
	fence iorw, iorw
	wfi
	csrsi sstatus, SSTATUS_SIE
rest_halted:
	nop
rest_halted_end:
	j cpu_rest_loop
1:
	sd t1, CPU_READY(tp)
	csrsi sstatus, SSTATUS_SIE
rest_spin:
	.4byte PAUSE_CODE
	ld t0, CPU_SPIN(tp)
	beqz t0, cpu_rest_loop
	ld t0, CPU_READY(tp)
	bnez t0, rest_spin
rest_spin_end:
	li t1, 1
	j 1b

	.section .note.GNU-stack, "", %progbits
