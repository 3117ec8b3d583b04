/* Timed loops that ask the hypervisor or the CPU for something: hypercall, cpuid. Contract, operands:
 * arch/timed.h. */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>
#include <arch/timed_hypercall.S>

	TIMED_PAIR hypercall, hypercall

/*
 * uint64_t cpuid_run(uint64_t iterations, struct cpuid_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: vendor
 *   registers r8 = rbx, which is callee-saved
 *   clobbers  rax, rcx, rdx, r11, flags
 */
.macro cpuid_vendor is_run
	TIMED_COUNT
	mov %rbx, %r8
1:
	xor %eax, %eax
	xor %ecx, %ecx
.if \is_run
	cpuid
.endif
	TIMED_NEXT 1b
	mov %ebx, CPUID_VENDOR_EBX(%rsi)
	mov %edx, CPUID_VENDOR_EDX(%rsi)
	mov %ecx, CPUID_VENDOR_ECX(%rsi)
	mov %r8, %rbx
.endm
	TIMED_PAIR cpuid, cpuid_vendor

	.section .note.GNU-stack, "", @progbits
