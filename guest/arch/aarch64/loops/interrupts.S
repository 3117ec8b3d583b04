/*
 * Timed loops of interrupts and their controller, the GIC: ipi, interrupt-controller-trap, irq-completion,
 * lpi, card_lpi, timer. Contract, operands: arch/timed.h, arch/timed_exits.h.
 */
#include <arch/cpu.h>
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

#define GICC_IAR  12
#define GICC_EOIR 16
#define INTID	  0x3ff			/* in what GICC_IAR gives */

/*
 * uint64_t ipi_run(uint64_t iterations, struct ipi_operand *operand);   also _control
 *
 *   in        x0 = iterations, x1 = operand
 *   out       x0 = ticks
 *   registers x15 = sum, x14 = start, x3 = gicv3, x2 = command, x4 = sgir, x10 = received, x6 = yield,
 *             x11 = received before, x5 = received now; when settling x10 = ready, x11 = passes left
 *   clobbers  x16, flags
 *
 * Between two IPIs it waits until the receiver rests again, and some YIELDs more.
 */
.macro ipi is_run
	EACH_BEGIN
1:
	EACH_START
.if \is_run
	ldp x3, x2, [x1, #IPI_GICV3]		/* gicv3, command */
	ldp x4, x10, [x1, #IPI_SGIR]		/* sgir, received */
	ldr x6, [x1, #IPI_YIELD]
	ldr x11, [x10]
	dsb ishst
	cbz x3, 2f
	msr ICC_SGI1R_EL1, x2
	isb
	b 3f
2:
	str w2, [x4]
3:
	ldr x5, [x10]
	cmp x5, x11
	b.ne 5f
	cbz x6, 3b
	yield
	b 3b
5:
.endif
	EACH_STOP
	ldr x10, [x1, #IPI_READY]
6:
	yield
	ldr x2, [x10]
	cbz x2, 6b
	ldr x11, [x1, #IPI_SETTLE_PASSES]
7:
	yield
	subs x11, x11, #1
	b.ne 7b
	EACH_NEXT
.endm
	TIMED_PAIR ipi, ipi

/*
 * uint64_t interrupt_controller_trap_run(uint64_t iterations, struct controller_operand *operand);
 * also _control
 *
 *   in        x0 = iterations, x1 = operand
 *   out       operand: value
 *   registers x2 = address, x3 = value
 *   clobbers  x17, flags
 */
.macro controller_access is_run
	TIMED_COUNT
	ldr x2, [x1, #CONTROLLER_ADDRESS]
	mov x3, #0
1:
.if \is_run
	ldr w3, [x2]
.endif
	TIMED_NEXT 1b
	str x3, [x1, #CONTROLLER_VALUE]
.endm
	TIMED_PAIR interrupt_controller_trap, controller_access

/*
 * uint64_t irq_completion_run(uint64_t iterations, struct completion_operand *operand);   also _control
 * uint64_t irq_completion_begin(uint64_t, struct completion_operand *operand);
 * uint64_t irq_completion_end(uint64_t, struct completion_operand *operand);
 *
 *   in        x0 = iterations, x1 = operand
 *   out       x0 = ticks; operand: missed, acknowledged
 *   registers x15 = sum, x14 = start, x2 = cpu_interface, x3 = command, x4 = what was acknowledged,
 *             x5 = sgir, x6 = wanted, x7 = looks left, x8 = INTID
 *   clobbers  x16, flags
 *
 * _begin takes an interrupt and _end ends it: the two halves of a pass, for the row's check.
 */
#define MOST_LOOKS 10000

/* Labels 2 to 7. */
.macro take_interrupt
	ldp x2, x3, [x1, #COMPLETION_CPU_INTERFACE] /* cpu_interface, command */
	ldp x5, x6, [x1, #COMPLETION_SGIR]	/* sgir, wanted */
	mov x7, #MOST_LOOKS
	dsb sy
	cbz x2, 2f
	str w3, [x5]
3:
	ldr w4, [x2, #GICC_IAR]
	b 4f
2:
	msr ICC_SGI1R_EL1, x3
	isb
5:
	mrs x4, ICC_IAR1_EL1
	dsb sy
4:
	and x8, x4, #INTID
	cmp x8, x6
	b.eq 6f
	subs x7, x7, #1
	b.eq 7f
	cbnz x2, 3b
	b 5b
7:
	ldr x8, [x1, #COMPLETION_MISSED]
	add x8, x8, #1
	str x8, [x1, #COMPLETION_MISSED]
6:
	str x4, [x1, #COMPLETION_ACKNOWLEDGED]
.endm

/* Labels 8, 9. */
.macro end_interrupt
	cbnz x2, 8f
	msr ICC_EOIR1_EL1, x4
	b 9f
8:
	str w4, [x2, #GICC_EOIR]
9:
.endm

.macro completion is_run
	EACH_BEGIN
1:
	take_interrupt
	EACH_START
.if \is_run
	end_interrupt
.endif
	EACH_STOP
.if \is_run == 0
	end_interrupt
.endif
	EACH_NEXT
.endm
	TIMED_PAIR irq_completion, completion

.macro end_taken_interrupt
	ldr x2, [x1, #COMPLETION_CPU_INTERFACE]
	ldr x4, [x1, #COMPLETION_ACKNOWLEDGED]
	end_interrupt
.endm
	TIMED_FUNCTION irq_completion_begin, take_interrupt
	TIMED_FUNCTION irq_completion_end, end_taken_interrupt

/*
 * uint64_t lpi_run(uint64_t iterations, struct lpi_operand *operand);   also _control
 *
 * Adds one command to the ring and waits a bounded time for the handler, which counts.
 *
 *   in        x0 = iterations, x1 = operand
 *   out       x0 = ticks; operand: ring.offset
 *   registers x15 = sum, x14 = start, x2 = written, x3 = offset, x4 = handled, x5 = its count before,
 *             x6 = its count now, x7 = looks left
 *   clobbers  x16, flags
 */
#define MOST_LPI_LOOKS 0x4000000

/* Stores `value` to `address`, which makes an interrupt, and waits a bounded time for the handler, which counts. x4:
 * handled; clobbers x5, its count before; x6, its count now; x7, looks left. */
.macro TIME_INTERRUPT value, address
	ldr x5, [x4, #HANDLED_COUNT]
	mov x7, #MOST_LPI_LOOKS
	msr daifclr, #2
	EACH_START
	str \value, [\address]
2:
	ldr x6, [x4, #HANDLED_COUNT]
	cmp x6, x5
	b.ne 3f
	subs x7, x7, #1
	b.ne 2b
3:
	EACH_STOP
	msr daifset, #2
.endm

.macro lpi
	EACH_BEGIN
1:
	ldp x2, x3, [x1, #LPI_WRITTEN]		/* written, offset */
	add x3, x3, #LPI_COMMAND_BYTES
	and x3, x3, #(LPI_RING_BYTES - 1)
	str x3, [x1, #LPI_OFFSET]
	ldr x4, [x1, #LPI_HANDLED]
	TIME_INTERRUPT x3, x2
	EACH_NEXT
.endm
	TIMED_EACH_PAIR lpi, lpi

/*
 * uint64_t card_lpi_run(uint64_t iterations, struct card_operand *operand);   also _control
 *
 * Makes a network card interrupt, waits a bounded time for the handler, which counts, and lets the card rest.
 *
 *   in        x0 = iterations, x1 = operand
 *   out       x0 = ticks
 *   registers x15 = sum, x14 = start, x2 = clear, x3 = set, x4 = handled, x5 = its count before,
 *             x6 = its count now, x7 = looks left, x8 = 1, x9 = ticks of rest, x10 = start of the rest,
 *             x11 = now
 *   clobbers  x16, flags
 */
.macro card_lpi
	EACH_BEGIN
1:
	ldp x2, x3, [x1, #CARD_CLEAR]		/* clear, set */
	ldp x4, x9, [x1, #CARD_HANDLED]		/* handled, ticks of rest */
	mov x8, #1
	TIME_INTERRUPT w8, x3
	str w8, [x2]
	TIMED_NOW x10
4:
	TIMED_NOW x11
	sub x11, x11, x10
	cmp x11, x9
	b.lo 4b
	EACH_NEXT
.endm
	TIMED_EACH_PAIR card_lpi, card_lpi

/*
 * uint64_t timer_run(uint64_t iterations, struct timer_operand *operand);   also _control
 *
 * A deadline `ticks` ahead; gives up 32 times as many ticks later (a busy host may be late). The handler
 * stamps and disables the timer.
 *
 *   in        x0 = iterations, x1 = operand
 *   out       x0 = ticks from the deadlines to the stamps; operand: early
 *   registers x15 = sum, x14 = start, then deadline; x2 = ticks, x3 = 1, x4 = handled, x5 = its count before,
 *             x6 = its count now, then lateness; x7 = the end of waiting, x8 = now
 *   clobbers  x16, flags
 */
.macro timer
	EACH_BEGIN
1:
	ldp x2, x4, [x1, #TIMER_TICKS]		/* ticks, handled */
	ldr x5, [x4, #HANDLED_COUNT]
	mov x3, #1
	LATENCY_NOW x14
	msr cntv_tval_el0, x2
	msr cntv_ctl_el0, x3
	msr daifclr, #2
	add x14, x14, x2
	add x7, x14, x2, lsl #5
2:
	ldr x6, [x4, #HANDLED_COUNT]
	cmp x6, x5
	b.ne 3f
	mrs x8, cntpct_el0
	cmp x8, x7
	b.lo 2b
3:
	msr daifset, #2
	ldr x6, [x4, #HANDLED_STAMP]
	subs x6, x6, x14
	b.hs 4f
	ldr x6, [x1, #TIMER_EARLY]
	add x6, x6, #1
	str x6, [x1, #TIMER_EARLY]
	mov x6, #0
4:
	add x15, x15, x6
	EACH_NEXT
.endm
	TIMED_EACH_PAIR timer, timer
