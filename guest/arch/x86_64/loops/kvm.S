/* Timed loops of what a guest of KVM does itself, without an exit: pvclock-read. Contract: arch/timed.h;
 * operands: arch/kvm.h. */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t pvclock_read_run(uint64_t iterations, struct pvclock_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: ns
 *   registers r8 = clock, r9d = its version, rax = ns
 *   clobbers  rcx, rdx, r11, flags
 *
 * As Linux reads it (arch/x86/include/asm/pvclock.h): again if KVM wrote meanwhile, and the TSC not before the
 * loads that precede it.
 */
.macro pvclock_read is_run
	TIMED_COUNT
	mov PVCLOCK_CLOCK(%rsi), %r8
	xor %eax, %eax
1:
.if \is_run
2:
	mov (%r8), %r9d
	and $~1, %r9d
	lfence
	rdtsc
	TIMED_JOIN
	sub CLOCK_TSC(%r8), %rax
	movsbl CLOCK_SHIFT(%r8), %ecx
	test %ecx, %ecx
	js 3f
	shl %cl, %rax
	jmp 4f
3:
	neg %ecx
	shr %cl, %rax
4:
	mov CLOCK_MULTIPLIER(%r8), %ecx
	mul %rcx
	shrd $32, %rdx, %rax
	add CLOCK_NS(%r8), %rax
	cmp (%r8), %r9d
	jne 2b
.endif
	TIMED_NEXT 1b
	mov %rax, PVCLOCK_NS(%rsi)
.endm
	TIMED_PAIR pvclock_read, pvclock_read

	.section .note.GNU-stack, "", @progbits
