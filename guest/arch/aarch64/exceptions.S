/*
 * The vectors, try_call()'s frame, and the handlers of the guest's own interrupts. Everything else goes to
 * exception_taken() and does not return.
 */
#include <arch/cpu.h>
#include <arch/exceptions.h>
#include <arch/timed_offsets.h>

	.macro own register, name
	adrp \register, cpu_level
	ldr \register, [\register, :lo12:cpu_level]
	cmp \register, #LEVEL_EL2
	b.eq 8f
	mrs \register, \name\()_el1
	b 9f
8:	mrs \register, \name\()_el2
9:
	.endm

	.macro vector target, kind
	.balign 128
	.if \kind
	mov x0, #\kind
	.endif
	b \target
	.endm

	.text
	.balign 2048
	.globl vectors
vectors:
	/* Current level with SP_EL0 (never used); current level with SP_ELx; lower levels. */
	.rept 4
	vector exception_common, EXCEPTION_ELSEWHERE
	.endr
	vector exception_common, EXCEPTION_SYNCHRONOUS
	vector interrupt_entry, 0
	vector exception_common, EXCEPTION_FIQ
	vector exception_common, EXCEPTION_SERROR
	.rept 8
	vector exception_common, EXCEPTION_ELSEWHERE
	.endr

/* x0 = EXCEPTION_...: void exception_taken(uint64_t kind). No registers are saved. */
exception_common:
	mov x1, sp
	and x1, x1, #~15
	mov sp, x1
	bl exception_taken
	b stand_still

/*
 * bool try_enter(void (*fn)(void *), void *arg, struct try_frame *frame);
 *   in   x0 = fn, x1 = arg, x2 = frame (its first word keeps the stack pointer)
 *   out  true when fn returned, false when try_leave() abandoned it
 *   stack at the kept pointer: x19 to x30, daif
 */
	.globl try_enter
try_enter:
	stp x19, x20, [sp, #-112]!
	stp x21, x22, [sp, #16]
	stp x23, x24, [sp, #32]
	stp x25, x26, [sp, #48]
	stp x27, x28, [sp, #64]
	stp x29, x30, [sp, #80]
	mrs x3, daif
	str x3, [sp, #96]
	mov x3, sp
	str x3, [x2]
	mov x3, x0
	mov x0, x1
	blr x3
	mov x0, #1
	b try_return

/*
 * _Noreturn void try_leave(struct try_frame *frame);   in x0
 */
	.globl try_leave
try_leave:
	ldr x1, [x0]
	mov sp, x1
	mov x0, #0
try_return:
	ldr x1, [sp, #96]
	msr daif, x1
	ldp x21, x22, [sp, #16]
	ldp x23, x24, [sp, #32]
	ldp x25, x26, [sp, #48]
	ldp x27, x28, [sp, #64]
	ldp x29, x30, [sp, #80]
	ldp x19, x20, [sp], #112
	ret

	/* Adds one to the 64-bit counter \symbol; clobbers x1, x2 and w3. */
	.macro count symbol
	adrp x1, \symbol
	add x1, x1, :lo12:\symbol
7:	ldxr x2, [x1]
	add x2, x2, #1
	stxr w3, x2, [x1]
	cbnz w3, 7b
	.endm

/*
 * The handler of on_cpu()'s interrupt. It counts where it interrupted its CPU: in the halt instruction of
 * cpu_rest_loop, in its waiting loop, or elsewhere. `ready` is cleared before `ipi_received` is
 * incremented: a sender that sees its interrupt counted must not take an old `ready` for a CPU that waits
 * again.
 */
interrupt_entry:
	stp x0, x1, [sp, #-48]!
	stp x2, x3, [sp, #16]
	stp x4, x5, [sp, #32]
	adrp x5, gic_cpu_interface	/* 0: by system registers */
	ldr x5, [x5, :lo12:gic_cpu_interface]
	cbz x5, 1f
	ldr w4, [x5, #0xc]		/* GICC_IAR */
	b 2f
1:	mrs x4, ICC_IAR1_EL1
	dsb sy
2:	and w0, w4, #0x3ff
	cmp w0, #INTID_SPECIAL
	b.hs 6f				/* spurious: nothing to end */
	cmp w0, #SGI_IPI
	b.ne 10f
	own x0, elr
	adr x1, rest_halted
	adr x2, rest_halted_end
	cmp x0, x1
	b.lo 3f
	cmp x0, x2
	b.hi 3f
	count ipi_found_halted
	b 4f
3:	adr x1, rest_spin
	adr x2, rest_spin_end
	cmp x0, x1
	b.lo 4f
	cmp x0, x2
	b.hi 4f
	count ipi_found_running
4:	str xzr, [x18, #CPU_READY]
	dmb ish
	count ipi_received
	b 5f
/* Latency rows: stamps, counts, and checks whether WFI was two or three instructions before. */
10:	cmp w0, #INTID_LATENCY
	b.eq 11f
	cmp w0, #INTID_XEN
	b.eq 11f
	cmp w0, #INTID_TIMER
	ccmp w0, #INTID_TIMER_EL2, #4, ne
	b.ne 5f
	msr cntv_ctl_el0, xzr		/* disables the timer */
11:	isb
	mrs x0, cntpct_el0
	adrp x1, latency_handled
	add x1, x1, :lo12:latency_handled
	str x0, [x1, #8]
	own x0, elr
	ldp w0, w2, [x0, #-12]
	ldr w3, wait_for_interrupt
	cmp w0, w3
	ccmp w2, w3, #4, ne
	b.ne 3f
	ldr x0, [x1, #HANDLED_FOUND_HALTED]
	add x0, x0, #1
	str x0, [x1, #HANDLED_FOUND_HALTED]
3:	ldr x0, [x1]
	add x0, x0, #1
	str x0, [x1]
	cmp w4, #INTID_XEN
	b.ne 5f
	adrp x1, xen_vcpu_info		/* clears evtchn_upcall_pending and _pending_sel */
	ldr x1, [x1, :lo12:xen_vcpu_info]
	strb wzr, [x1]
	str xzr, [x1, #8]
5:	cbz x5, 1f
	str w4, [x5, #0x10]		/* GICC_EOIR */
	b 6f
1:	msr ICC_EOIR1_EL1, x4
	isb
6:	ldp x4, x5, [sp, #32]
	ldp x2, x3, [sp, #16]
	ldp x0, x1, [sp], #48
	eret
wait_for_interrupt:
	wfi

/*
 * _Noreturn void cpu_rest_loop(void);   x18: this CPU's struct cpu
 * How every CPU but the first waits: halted, or in a loop if its `spin` is set. WFI also wakes for a masked
 * interrupt, so that none is missed between the check and the WFI.
 */
	.globl cpu_rest_loop
cpu_rest_loop:
	msr daifset, #2
	ldr x0, [x18, #CPU_SPIN]
	mov x1, #1
	cbnz x0, 1f
	str x1, [x18, #CPU_READY]
	dsb sy
	wfi
	msr daifclr, #2
rest_halted:
	isb
rest_halted_end:
	b cpu_rest_loop
1:	str x1, [x18, #CPU_READY]
	msr daifclr, #2
rest_spin:
	yield
	ldr x0, [x18, #CPU_SPIN]
	cbz x0, cpu_rest_loop
	ldr x0, [x18, #CPU_READY]
	cbnz x0, rest_spin
rest_spin_end:
	mov x1, #1
	b 1b

	.section .note.GNU-stack, "", %progbits
