/*
 * Starts a CPU: entered in real mode at TRAMPOLINE, the page named by the start-up IPI, to which smp.c
 * copies this code. Switches directly to long mode and calls cpu_started().
 */
#include <arch/cpu.h>

#define AT(symbol) (symbol - trampoline_start + TRAMPOLINE)

	.section .rodata
	.globl trampoline_start, trampoline_root, trampoline_end
	.code16
trampoline_start:
	cli
	cld
	xor %ax, %ax
	mov %ax, %ds
	mov $CR4_PAE, %eax
	mov %eax, %cr4
	movl AT(trampoline_root), %eax
	mov %eax, %cr3
	mov $MSR_EFER, %ecx
	rdmsr
	or $EFER_LME, %eax
	wrmsr
	lgdtl AT(trampoline_gdt)
	mov $CR0_LONG, %eax
	mov %eax, %cr0
	ljmpl $SELECTOR_CODE, $cpu_long_mode

	.balign 8
trampoline_gdt:
	.word GDT_BYTES - 1
	.long gdt
	.balign 4
trampoline_root:
	.long 0				/* the page-table root; below 4 GiB */
trampoline_end:

	.text
	.code64
cpu_long_mode:
	mov $SELECTOR_DATA, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	xor %eax, %eax
	mov %eax, %fs
	mov %eax, %gs
	mov starting_stack, %rsp
	call cpu_started		/* _Noreturn void cpu_started(void) */
	ud2

	.section .note.GNU-stack, "", @progbits
