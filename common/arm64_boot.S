/*
 * For assembly: how a program begins that Linux' arm64 boot protocol loads (Documentation/arch/arm64/booting.rst):
 * anywhere in memory, with the MMU off. Its linker script names image_start, image_end, image_bytes, bss_start,
 * relocations_start and relocations_end.
 */

/* Little-endian, pages of 4 KiB, may be placed anywhere in memory (bits 0, 1-2, 3). */
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
	.quad 0				/* text_offset: on a boundary of 2 MiB */
	.quad image_bytes
	.quad IMAGE_FLAGS
	.quad 0, 0, 0
	.ascii "ARM\x64"
	.long 0
	.endm

/* Moves the addresses in the image from `base`, where it was linked, to where it lies, and zeroes .bss. Of
 * relocations, {offset, type, addend}, only the relative type is left by the linker. Clobbers x0 to x5. */
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

/* void drop_image_lines(void); with the MMU off we write past the caches, so the image's lines are thrown out of
 * them before and after. Clobbers x0 to x3. */
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

