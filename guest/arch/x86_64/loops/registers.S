/* Timed loops that write control registers: set-cr3, and those of control-bits that toggle a bit. Contract,
 * operands: arch/timed.h. */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t set_cr3_run(uint64_t iterations, struct root_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   registers rax = root
 *   clobbers  r11, flags
 */
.macro set_root is_run
	TIMED_COUNT
	mov ROOT_ROOT(%rsi), %rax
1:
.if \is_run
	mov %rax, %cr3
.endif
	TIMED_NEXT 1b
.endm
	TIMED_PAIR set_cr3, set_root

/*
 * uint64_t toggle_cr0_wp_run(uint64_t iterations, void *);    also _control
 * uint64_t toggle_cr4_pge_run(uint64_t iterations, void *);   also _control
 *
 * A bit of a control register, toggled and toggled back.
 *
 *   in        rdi = iterations
 *   registers rax = the register, rcx = with the bit toggled
 *   clobbers  r11, flags
 */
#define CR0_WP_BIT  16
#define CR4_PGE_BIT 7

.macro toggle is_run, register, bit
	TIMED_COUNT
	mov %\register, %rax
	mov %rax, %rcx
	btc $\bit, %rcx
1:
.if \is_run
	mov %rcx, %\register
	mov %rax, %\register
.endif
	TIMED_NEXT 1b
.endm
	TIMED_PAIR toggle_cr0_wp, toggle, cr0, CR0_WP_BIT
	TIMED_PAIR toggle_cr4_pge, toggle, cr4, CR4_PGE_BIT

	.section .note.GNU-stack, "", @progbits
