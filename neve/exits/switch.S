/*
 * The world switch. context_enter() enters a guest and returns at its next exit. PC and PSTATE are in
 * ELR_EL2 and SPSR_EL2 before and after. Only general registers are switched: EL1's registers and the
 * vector registers stay the guest's, because each CPU has only one vCPU and the hypervisor uses neither.
 */
#include "cpu/cpu.h"

	/* A paravirtual hypervisor calls instead (cpu/registers.h, CALL_ERET). */
	.macro exception_return
#if PARAVIRT
	hvc #0xffff
#else
	eret
#endif
	.endm

	.text

/*
 * unsigned context_enter(struct context *context);
 *   in     x0 = context
 *   out    x0 = LEFT_...
 *   stack  x19 to x30 and the context, until the guest exits
 */
	.globl context_enter
context_enter:
	stp x0, xzr, [sp, #-112]!
	stp x19, x20, [sp, #16]
	stp x21, x22, [sp, #32]
	stp x23, x24, [sp, #48]
	stp x25, x26, [sp, #64]
	stp x27, x28, [sp, #80]
	stp x29, x30, [sp, #96]
	ldp x2, x3, [x0, #CONTEXT_X + 16]
	ldp x4, x5, [x0, #CONTEXT_X + 32]
	ldp x6, x7, [x0, #CONTEXT_X + 48]
	ldp x8, x9, [x0, #CONTEXT_X + 64]
	ldp x10, x11, [x0, #CONTEXT_X + 80]
	ldp x12, x13, [x0, #CONTEXT_X + 96]
	ldp x14, x15, [x0, #CONTEXT_X + 112]
	ldp x16, x17, [x0, #CONTEXT_X + 128]
	ldp x18, x19, [x0, #CONTEXT_X + 144]
	ldp x20, x21, [x0, #CONTEXT_X + 160]
	ldp x22, x23, [x0, #CONTEXT_X + 176]
	ldp x24, x25, [x0, #CONTEXT_X + 192]
	ldp x26, x27, [x0, #CONTEXT_X + 208]
	ldp x28, x29, [x0, #CONTEXT_X + 224]
	ldr x30, [x0, #CONTEXT_X + 240]
	ldp x0, x1, [x0, #CONTEXT_X]
	exception_return

/* Saves the guest's registers; its x0 and x1 are on the stack; x1 = LEFT_... */
guest_left:
	ldr x0, [sp, #16]
	stp x2, x3, [x0, #CONTEXT_X + 16]
	stp x4, x5, [x0, #CONTEXT_X + 32]
	stp x6, x7, [x0, #CONTEXT_X + 48]
	stp x8, x9, [x0, #CONTEXT_X + 64]
	stp x10, x11, [x0, #CONTEXT_X + 80]
	stp x12, x13, [x0, #CONTEXT_X + 96]
	stp x14, x15, [x0, #CONTEXT_X + 112]
	stp x16, x17, [x0, #CONTEXT_X + 128]
	stp x18, x19, [x0, #CONTEXT_X + 144]
	stp x20, x21, [x0, #CONTEXT_X + 160]
	stp x22, x23, [x0, #CONTEXT_X + 176]
	stp x24, x25, [x0, #CONTEXT_X + 192]
	stp x26, x27, [x0, #CONTEXT_X + 208]
	stp x28, x29, [x0, #CONTEXT_X + 224]
	str x30, [x0, #CONTEXT_X + 240]
	ldp x2, x3, [sp], #16
	stp x2, x3, [x0, #CONTEXT_X]
	mov x0, x1
	ldp x19, x20, [sp, #16]
	ldp x21, x22, [sp, #32]
	ldp x23, x24, [sp, #48]
	ldp x25, x26, [sp, #64]
	ldp x27, x28, [sp, #80]
	ldp x29, x30, [sp, #96]
	add sp, sp, #112
	ret

/* The host half of a split hypervisor (kvm410/world_switch.c). */
	.globl kvm410_host_half
kvm410_host_half:
	hvc #0
	b kvm410_host_half

	.macro from_guest how
	.balign 128
	stp x0, x1, [sp, #-16]!
	mov x1, #\how
	b guest_left
	.endm

	/* A fault of the hypervisor itself: void own_fault(void), does not return. */
	.macro from_ourselves
	.balign 128
	mov x0, sp
	and x0, x0, #~15
	mov sp, x0
	bl own_fault
	.endm

	.balign 2048
	.globl vectors
vectors:
	.rept 8				/* from EL2 itself: a bug, as interrupts are masked */
	from_ourselves
	.endr
	.rept 2				/* from a lower level, AArch64 and AArch32 */
	from_guest LEFT_SYNCHRONOUS
	from_guest LEFT_IRQ
	from_guest LEFT_FIQ
	from_guest LEFT_SERROR
	.endr

	.section .note.GNU-stack, "", %progbits
