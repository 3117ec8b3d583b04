/*
 * The loop of the row hypercall (loops/calls.S). `more`: an instruction that tests/guests/one-more.S adds to
 * the operation.
 *
 * uint64_t NAME_run(uint64_t iterations, struct hypercall_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: wrong, last
 *   registers r8 = operand, r9 = amd, r10 = number, rcx = wanted, rax = result, dl = was it another one?
 *   clobbers  rsi, rdi, r11, flags
 *
 * Selecting the vendor's instruction adds one jump (VMCALL) or two (VMMCALL) to the figure. Xen's first
 * arguments are rdi and rsi: 0 is XENVER_version. KVM's are rbx, rcx, rdx, rsi, and are ignored for an
 * unknown number.
 */
#include <arch/timed_offsets.h>

.macro hypercall is_run, more
	TIMED_COUNT
	mov %rsi, %r8
	mov HYPERCALL_NUMBER(%r8), %r10
	mov HYPERCALL_AMD(%r8), %r9
	mov HYPERCALL_WANTED(%r8), %rcx
	mov %rcx, %rax
	xor %edx, %edx
1:
	cmp %rcx, %rax
	setne %dl
	add %rdx, HYPERCALL_WRONG(%r8)
	xor %edi, %edi
	xor %esi, %esi
	mov %r10, %rax
	test %r9, %r9
.if \is_run
	VENDOR_HYPERCALL
	\more
.endif
	TIMED_NEXT 1b
	mov %rax, HYPERCALL_LAST(%r8)
.endm
