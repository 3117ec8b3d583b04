/*
 * From Linux' arm64 boot protocol (Documentation/arch/arm64/booting.rst) to first_steps() and
 * neve_main(), and from PSCI's CPU_ON to cpu_main().
 *
 *   first CPU     x0 = physical address of the device tree
 *   others        x0 = what CPU_ON was given: this CPU's struct cpu
 *
 * Both enter with the MMU off, interrupts masked, at EL2. The image may lie anywhere: the addresses in it
 * are moved first. With the MMU off we write past the caches, so the image's lines are thrown out of
 * them before and after.
 */
#include "machine/cpu.h"

#define IMAGE_FLAGS	   0xa	/* little-endian, pages of 4 KiB, may be placed anywhere */
#define R_AARCH64_RELATIVE 1027

	.macro address register, symbol
	adrp \register, \symbol
	add \register, \register, :lo12:\symbol
	.endm

	.section .head, "ax", %progbits
	b first_entry
	.long 0
	.quad 0				/* text_offset: on a boundary of 2 MiB */
	.quad image_bytes
	.quad IMAGE_FLAGS
	.quad 0, 0, 0
	.ascii "ARM\x64"
	.long 0

	.text
first_entry:
	msr daifset, #0xf
	mov x19, x0
	bl drop_image_lines

	/* Relocations: {offset, type, addend}; only the relative type is left by the linker. */
	address x0, image_start
	ldr x1, =NEVE_BASE
	sub x0, x0, x1
	address x1, relocations_start
	address x2, relocations_end
1:	cmp x1, x2
	b.hs 2f
	ldp x3, x4, [x1], #16
	ldr x5, [x1], #8
	cmp w4, #R_AARCH64_RELATIVE
	b.ne 1b
	add x5, x5, x0
	str x5, [x3, x0]
	b 1b

2:	address x0, bss_start
	address x1, image_end
1:	stp xzr, xzr, [x0], #16
	cmp x0, x1
	b.lo 1b

	address x0, boot_stack_end
	mov sp, x0
#if !PARAVIRT				/* at virtual EL2 of a CPU that cannot say so, we take it as given */
	mrs x1, CurrentEL
	cmp x1, #CURRENT_EL2
	b.ne 3f
#endif
	mov x0, x19
	bl first_steps			/* void first_steps(uint64_t tree) */
	bl drop_image_lines
	bl mmu_on
	bl second_steps			/* does not return */
3:	mov x0, x19
	bl wrong_level			/* void wrong_level(uint64_t tree); does not return */

	.globl other_entry
other_entry:
	msr daifset, #0xf
	mov x19, x0
	ldr x0, [x19]			/* struct cpu: stack_end comes first */
	mov sp, x0
	bl mmu_on			/* void mmu_on(void); it uses no stack unless it was patched */
	mov x0, x19
	bl cpu_main			/* does not return */

/*
 * void drop_image_lines(void);   throws the image's lines out of the caches; clobbers x0 to x3
 */
drop_image_lines:
	address x0, image_start
	address x1, image_end
	mrs x2, ctr_el0
	ubfx x2, x2, #16, #4		/* DminLine: log2 of words */
	mov x3, #4
	lsl x2, x3, x2
	dsb sy
1:	dc ivac, x0
	add x0, x0, x2
	cmp x0, x1
	b.lo 1b
	dsb sy
	ret

	.bss
	.balign 16
boot_stack:
	.skip STACK_BYTES
boot_stack_end:

	.section .note.GNU-stack, "", %progbits
