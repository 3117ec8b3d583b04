/*
 * Timed loops of input and output: print, io-latency-*, vm-switch. Contract, operands: arch/timed.h,
 * timed_shared.h; the page shared with the other side: common/latency_page.h. The loops of in, out, eventfd,
 * ... are in their files in bench/.
 */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t print_run(uint64_t iterations, struct port_operand *operand);   also _control
 *
 *   in        x0 = iterations, x1 = operand
 *   registers x2 = port, x8 = string, x9 = bytes, x4 and x5 = those left, w3 = the byte
 *   clobbers  x17, flags
 */
.macro print is_run
	TIMED_COUNT
	ldr x2, [x1, #PORT_PORT]
	ldp x8, x9, [x1, #PORT_STRING]		/* string, bytes */
1:
	mov x4, x8
	mov x5, x9
.if \is_run
2:
	ldrb w3, [x4], #1
	strb w3, [x2]
	subs x5, x5, #1
	b.ne 2b
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
 *   in        x0 = iterations, x1 = operand
 *   out       x0 = ticks; operand: outside
 *   registers x15 = sum, x14 = start, x10 = page, x2 = kick, x4 = yield, x12 = handled, x5 = halts,
 *             x11 = old count (of stamps or of interrupts), x3 = count; after the wait x16 = end,
 *             x13 = stamp, then what is added; x6 = scratch
 *   clobbers  flags
 */

/* Waits for the stamp. Labels 2, 3. */
.macro until_stamp
2:
	ldr x3, [x10, #LATENCY_PAGE_STAMPS]
	cmp x3, x11
	b.ne 3f
	cbz x4, 2b
	yield
	b 2b
3:
	dmb ish
.endm

/* Interrupts are enabled while it spins; WFI also wakes for a masked one, which is then unmasked. Label 2. */
.macro before_interrupt
	ldr x11, [x12, #HANDLED_COUNT]
	cbnz x5, 2f
	msr daifclr, #2
2:
.endm

/* Waits for the interrupt, spinning or halted. Labels 2, 3, 6. */
.macro until_interrupt
	cbnz x5, 6f
2:
	ldr x3, [x12, #HANDLED_COUNT]
	cmp x3, x11
	b.ne 3f
	cbz x4, 2b
	yield
	b 2b
6:
	ldr x3, [x12, #HANDLED_COUNT]
	cmp x3, x11
	b.ne 3f
	dsb sy
	wfi
	msr daifclr, #2
	isb
	msr daifset, #2
	b 6b
3:
	msr daifset, #2
.endm

/* A new pass starts the operand's settle_ticks after the previous one. Clobbers x6, x11. Label 7. */
.macro settle
	ldr x11, [x1, #LATENCY_OPERAND_SETTLE]
7:
	yield
	mrs x6, cntpct_el0
	sub x6, x6, x14
	cmp x6, x11
	b.lo 7b
.endm

/* `awaits`: stamp or interrupt, which ends the pass. `adds`: to_stamp or from_stamp. */
.macro latency awaits, adds
	EACH_BEGIN
1:
	ldp x10, x2, [x1, #LATENCY_OPERAND_PAGE] /* page, kick */
	ldr x4, [x1, #LATENCY_OPERAND_YIELD]
	ldp x12, x5, [x1, #LATENCY_OPERAND_HANDLED] /* handled, halts */
.ifc \awaits, stamp
	ldr x11, [x10, #LATENCY_PAGE_STAMPS]
.else
	before_interrupt
.endif
	LATENCY_NOW x14
	strb wzr, [x2]
	until_\awaits
.ifc \awaits, stamp
	LATENCY_NOW x16
.else
	ldr x16, [x12, #HANDLED_STAMP]
.endif
	ldr x13, [x10, #LATENCY_PAGE_STAMP]
	cmp x16, x13
	b.lo 4f
	cmp x13, x14
	b.lo 4f
.ifc \adds, to_stamp
	sub x13, x13, x14
.else
	sub x13, x16, x13
.endif
	add x15, x15, x13
	b 5f
4:
	ldr x6, [x1, #LATENCY_OPERAND_OUTSIDE]
	add x6, x6, #1
	str x6, [x1, #LATENCY_OPERAND_OUTSIDE]
5:
	settle
	EACH_NEXT
.endm
	TIMED_EACH_PAIR io_latency_out, latency, stamp, to_stamp
	TIMED_EACH_PAIR io_latency_in, latency, interrupt, from_stamp
	TIMED_EACH_PAIR vm_switch, latency, interrupt, to_stamp
