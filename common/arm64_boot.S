/*
 * Assembly macros for a program loaded by Linux's arm64 boot protocol
 * (Documentation/arch/arm64/booting.rst): anywhere in memory, MMU off. The linker script defines
 * image_start, image_end, image_bytes, bss_start, relocations_start and relocations_end.
 */

/* Little-endian, 4 KiB pages, may be placed anywhere in memory (bits 0, 1-2, 3). */
#define IMAGE_FLAGS	   0xa
#define R_AARCH64_RELATIVE 1027

	.macro address register, symbol
	adrp \register, \symbol
	add \register, \register, :lo12:\symbol
	.endm

/* The Image's header (struct arm64_image_header). */
	.macro image_header entry
	b \entry
	.long 0
	.quad 0				/* text_offset: at a 2 MiB boundary */
	.quad image_bytes
	.quad IMAGE_FLAGS
	.quad 0, 0, 0
	.ascii "ARM\x64"
	.long 0
	.endm

/* Applies relocations: moves addresses from `base`, the link address, to the load address; then zeroes
 * .bss. Entries are {offset, type, addend}; the linker leaves only the relative type. Clobbers x0 to x5. */
	.macro relocate_and_clear base
	address x0, image_start
	ldr x1, =\base
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
	.endm

/* void drop_image_lines(void); with the MMU off, writes bypass the caches, so the image's cache lines are
 * invalidated before and after. Clobbers x0 to x3. */
	.macro define_drop_image_lines
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
	.endm

