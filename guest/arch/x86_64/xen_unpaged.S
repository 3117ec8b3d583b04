/*
 * Runs code with paging off, as in a 32-bit guest just started by PVH: Xen reads a guest's instructions and
 * arguments through the guest's page tables, and here has none to walk. Jumped to by
 * loops/unpaged.S and by dom0/answer.S, on the first CPU only.
 *
 *   in        rax = 32-bit code; rdi, rsi are passed on to it
 *   out       rax = edx:eax as the code left them
 *   clobbers  the caller-saved registers
 *   stack     the caller's, below 4 GiB; 10 words
 *
 * The code is called with interrupts off, flat segments, and 1:1 physical addresses. It may use all
 * registers but esp, and must not raise an exception: the interrupt table is a 64-bit one. 32-bit mode does
 * not preserve 64-bit state (SDM vol. 1, 3.4.1.1), so all callee-saved registers are pushed.
 */
#include <arch/cpu.h>

#define SELECTOR_CODE_32 0x18

	.text
	.code64
	.globl xen_unpaged
xen_unpaged:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	pushfq
	cli
	lgdt unpaged_gdt_register
	push $SELECTOR_CODE_32
	push $compatible
	lretq
	.code32
compatible:
	mov $SELECTOR_DATA, %ecx
	mov %ecx, %ds
	mov %ecx, %es
	mov %ecx, %ss
	mov $(CR0_LONG & ~CR0_PG), %ecx
	mov %ecx, %cr0			/* leaves long mode */
	call *%eax
	mov $CR0_LONG, %ecx
	mov %ecx, %cr0			/* re-enters it: EFER.LME, CR4 and CR3 are unchanged */
	ljmp $SELECTOR_CODE, $long_again
	.code64
long_again:
	mov %esp, %esp
	lgdt gdt_register
	popfq
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	mov %eax, %eax
	shl $32, %rdx
	or %rdx, %rax
	ret

	.data
	.balign 8
unpaged_gdt:
	.quad 0
	.quad 0x00af9b000000ffff	/* SELECTOR_CODE, as in boot.S */
	.quad 0x00cf93000000ffff	/* SELECTOR_DATA */
	.quad 0x00cf9b000000ffff	/* code: 32-bit, present, ring 0 */
unpaged_gdt_register:
	.word . - unpaged_gdt - 1
	.quad unpaged_gdt

	.section .note.GNU-stack, "", @progbits
