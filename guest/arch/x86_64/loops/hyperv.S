/* Timed loops of Hyper-V's interfaces: hv-reference-tsc, hv-hypercall. Contract: arch/timed.h; operands:
 * arch/hyperv.h. */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t hyperv_tsc_run(uint64_t iterations, struct hyperv_clock_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: time
 *   registers r8 = clock, r9d = its sequence, rax = time
 *   clobbers  rdx, r11, flags
 *
 * As Linux reads it (drivers/clocksource/hyperv_timer.c): again if the page changed meanwhile.
 */
.macro hyperv_tsc is_run
	TIMED_COUNT
	mov HYPERV_TSC_CLOCK(%rsi), %r8
	xor %eax, %eax
1:
.if \is_run
2:
	mov (%r8), %r9d
	lfence
	rdtsc
	TIMED_JOIN
	mulq HYPERV_CLOCK_SCALE(%r8)
	mov %rdx, %rax
	add HYPERV_CLOCK_OFFSET(%r8), %rax
	cmp (%r8), %r9d
	jne 2b
.endif
	TIMED_NEXT 1b
	mov %rax, HYPERV_TSC_TIME(%rsi)
.endm
	TIMED_PAIR hyperv_tsc, hyperv_tsc

/*
 * uint64_t hyperv_call_run(uint64_t iterations, struct hyperv_call_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: wrong, last
 *   registers r10 = wanted, rax = result, dl = was it another one?; for the call rcx = control word, rdx and
 *             r8 = input and output, none
 *   clobbers  r11, flags
 *
 * The hypervisor's code keeps the other registers (TLFS 3.8).
 */
.macro hyperv_call is_run
	TIMED_COUNT
	mov HYPERV_CALL_WANTED(%rsi), %r10
	mov %r10, %rax
1:
	xor %edx, %edx
	cmp %r10, %rax
	setne %dl
	add %rdx, HYPERV_CALL_WRONG(%rsi)
	mov HYPERV_CALL_INPUT(%rsi), %rcx
	xor %edx, %edx
	xor %r8d, %r8d
.if \is_run
	call *HYPERV_CALL_CODE(%rsi)
.endif
	TIMED_NEXT 1b
	mov %rax, HYPERV_CALL_LAST(%rsi)
.endm
	TIMED_PAIR hyperv_call, hyperv_call

	.section .note.GNU-stack, "", @progbits
