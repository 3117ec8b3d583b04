/*
 * Timed loops of input and output: print, io-latency-*, vm-switch. Contract, operands: arch/timed.h,
 * timed_shared.h; the page shared with the other side: common/latency_page.h. The loops of in, out, eventfd,
 * ... are in their files in bench/.
 */
#include <arch/cpu.h>
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t print_run(uint64_t iterations, struct port_operand *operand);   also _control
 *
 *   in        a0 = iterations, a1 = operand
 *   registers a2 = port, a3 = string, a4 = bytes, a5 and a6 = those left, a7 = the byte
 *   clobbers  t6
 */
.macro print is_run
	TIMED_COUNT
	ld a2, PORT_PORT(a1)
	ld a3, PORT_STRING(a1)
	ld a4, PORT_BYTES(a1)
1:
	mv a5, a3
	mv a6, a4
.if \is_run
2:
	lbu a7, 0(a5)
	sb a7, 0(a2)
	addi a5, a5, 1
	addi a6, a6, -1
	bnez a6, 2b
.endif
	TIMED_NEXT 1b
.endm
	TIMED_PAIR print, print

/*
 * uint64_t io_latency_out_run(uint64_t iterations, struct latency_operand *operand);   also _control
 * uint64_t io_latency_in_run(uint64_t iterations, struct latency_operand *operand);    also _control
 * uint64_t vm_switch_run(uint64_t iterations, struct latency_operand *operand);        also _control
 *
 * Out: from the kick to the other side's stamp. In: from the stamp to the handler. Switch: from the kick to
 * the stamp, which an interrupt follows.
 *
 *   in        a0 = iterations, a1 = operand
 *   out       a0 = ticks; operand: outside
 *   registers t5 = sum, t4 = start, a2 = page, a3 = kick, a4 = yield, a5 = handled, a6 = halts,
 *             a7 = old count (of stamps or of interrupts), t0 = count; after the wait t3 = end,
 *             t1 = stamp, then what is added; t2 = scratch
 */

/* Waits for the stamp. Labels 2, 3. */
.macro until_stamp
2:
	ld t0, LATENCY_PAGE_STAMPS(a2)
	bne t0, a7, 3f
	beqz a4, 2b
	PAUSE
	j 2b
3:
	fence rw, rw
.endm

/* Interrupts are enabled while it spins; WFI also wakes for a masked one, which is then unmasked. Label 2. */
.macro before_interrupt
	ld a7, HANDLED_COUNT(a5)
	bnez a6, 2f
	csrsi sstatus, SSTATUS_SIE
2:
.endm

/* Waits for the interrupt, spinning or halted. Labels 2, 3, 6. */
.macro until_interrupt
	bnez a6, 6f
2:
	ld t0, HANDLED_COUNT(a5)
	bne t0, a7, 3f
	beqz a4, 2b
	PAUSE
	j 2b
6:
	ld t0, HANDLED_COUNT(a5)
	bne t0, a7, 3f
	fence iorw, iorw
	wfi
	csrsi sstatus, SSTATUS_SIE
	nop
	csrci sstatus, SSTATUS_SIE
	j 6b
3:
	csrci sstatus, SSTATUS_SIE
.endm

/* A new pass starts the operand's settle_ticks after the previous one. Clobbers t2, a7. Label 7. */
.macro settle
	ld a7, LATENCY_OPERAND_SETTLE(a1)
7:
	PAUSE
	rdtime t2
	sub t2, t2, t4
	bltu t2, a7, 7b
.endm

/* `awaits`: stamp or interrupt, which ends the pass. `adds`: to_stamp or from_stamp. */
.macro latency awaits, adds
	EACH_BEGIN
1:
	ld a2, LATENCY_OPERAND_PAGE(a1)
	ld a3, LATENCY_OPERAND_KICK(a1)
	ld a4, LATENCY_OPERAND_YIELD(a1)
	ld a5, LATENCY_OPERAND_HANDLED(a1)
	ld a6, LATENCY_OPERAND_HALTS(a1)
.ifc \awaits, stamp
	ld a7, LATENCY_PAGE_STAMPS(a2)
.else
	before_interrupt
.endif
	LATENCY_NOW t4
	sb zero, 0(a3)
	until_\awaits
.ifc \awaits, stamp
	LATENCY_NOW t3
.else
	ld t3, HANDLED_STAMP(a5)
.endif
	ld t1, LATENCY_PAGE_STAMP(a2)
	bltu t3, t1, 4f
	bltu t1, t4, 4f
.ifc \adds, to_stamp
	sub t1, t1, t4
.else
	sub t1, t3, t1
.endif
	add t5, t5, t1
	j 5f
4:
	ld t2, LATENCY_OPERAND_OUTSIDE(a1)
	addi t2, t2, 1
	sd t2, LATENCY_OPERAND_OUTSIDE(a1)
5:
	settle
	EACH_NEXT
.endm
	TIMED_EACH_PAIR io_latency_out, latency, stamp, to_stamp
	TIMED_EACH_PAIR io_latency_in, latency, interrupt, from_stamp
	TIMED_EACH_PAIR vm_switch, latency, interrupt, to_stamp
