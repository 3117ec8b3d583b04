/* The timed loop of mixed.c. An example of a loop that is too long for TIMED_PAIR in C (CONTRIBUTING.md). */
#include <arch/timed_macros.S>

#define PAGE_BYTES 4096

/* struct mixed_operand */
#define AT     0
#define NUMBER 8
#define AMD    16
#define PORT   24
#define LAST   32

/*
 * uint64_t mixed_run(uint64_t iterations, struct mixed_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: at, last
 *   registers r8 = operand, r9 = page, r10 = number, edx = port, rax and rcx = scratch
 *   clobbers  rdi and rsi (Xen's arguments), r11, flags
 */
.macro mixed is_run
	TIMED_COUNT
	mov %rsi, %r8
	mov AT(%r8), %r9
	mov NUMBER(%r8), %r10
	mov PORT(%r8), %rdx
1:
	add $PAGE_BYTES, %r9
	xor %edi, %edi
	xor %esi, %esi
.if \is_run
	mov (%r9), %rcx
	in %dx, %al
	in %dx, %al
	in %dx, %al
	mov %r10, %rax
	testb $1, AMD(%r8)
	VENDOR_HYPERCALL
.endif
	TIMED_NEXT 1b
	mov %r9, AT(%r8)
	mov %rax, LAST(%r8)
.endm
	TIMED_PAIR mixed, mixed

	.section .note.GNU-stack, "", @progbits
