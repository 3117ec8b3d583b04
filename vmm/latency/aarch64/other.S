/*
 * The second machine of VM Switch, loaded at PROGRAM_AT (arch_boot_program) with the GIC version in x0. It
 * enables its MMU, because the page it shares with the other machine is cached memory there, and then takes
 * the interrupt: its handler stamps, kicks and signals end of interrupt. latency.c has the same addresses.
 */
#include "guest/arch/aarch64/include/arch/cpu.h"

#define PROGRAM_AT	0x40000000
#define PAGE		0x50000000	/* struct latency_page: stamps, stamp */
#define KICK		0x0a000000
#define DISTRIBUTOR	0x08000000	/* as in board.h */
#define CPU_INTERFACE	0x08010000
#define VECTOR_IRQ	0x280
#define BIT		(1 << (INTID_LATENCY % 32))

/* Attribute 0: device, 1: write-back; 39-bit addresses from level 1, cached table walks. */
#define MAIR	0xff04
#define TCR	(25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23)
#define MMU_ON	(1 << 0 | 1 << 2 | 1 << 12)
#define DEVICE	(1 | 1 << 10 | 3 << 53)		/* the GiB at 0, not executable */
#define MEMORY	(1 | 1 << 2 | 3 << 8 | 1 << 10)	/* ... and at PROGRAM_AT, shareable */

	.section .rodata
	.balign 8
	.globl other_program, other_program_end
other_program:
	mov x5, x0
	ldr x0, =MAIR
	msr mair_el1, x0
	ldr x0, =TCR
	msr tcr_el1, x0
	adr x0, table
	msr ttbr0_el1, x0
	adr x0, vectors
	msr vbar_el1, x0
	isb
	mrs x0, sctlr_el1
	mov x1, #MMU_ON
	orr x0, x0, x1
	msr sctlr_el1, x0
	isb
	ldr x3, =PAGE
	ldr x4, =KICK
	ldr x6, =DISTRIBUTOR
	ldr x7, =CPU_INTERFACE
	mov w1, #0x13		/* both groups; affinity routing (not in GICv2) */
	str w1, [x6]
	mov w1, #2 << (INTID_LATENCY % 16 * 2)
	str w1, [x6, #0xc00 + INTID_LATENCY / 16 * 4]	/* edge-triggered */
	mov w1, #0xa0
	strb w1, [x6, #0x400 + INTID_LATENCY]		/* priority */
	cmp x5, #3
	b.eq 1f
	mov w1, #1
	strb w1, [x6, #0x800 + INTID_LATENCY]		/* GICv2: to CPU 0 */
	mov w2, #0xf0
	str w2, [x7, #4]				/* lets all priorities through */
	str w1, [x7]
	b 2f
1:	mov w1, #~0
	str w1, [x6, #0x080 + INTID_LATENCY / 32 * 4]	/* GICv3: group 1, to affinity 0 */
	add x1, x6, #0x6000
	str xzr, [x1, #INTID_LATENCY * 8]
	mov x1, #1
	msr ICC_SRE_EL1, x1
	isb
	mov x2, #0xf0
	msr ICC_PMR_EL1, x2
	msr ICC_IGRPEN1_EL1, x1
2:	mov w1, #BIT
	str w1, [x6, #0x100 + INTID_LATENCY / 32 * 4]	/* enabled */
	dsb sy
	isb
	msr daifclr, #2
	strb wzr, [x4]
rest:	wfi
	b rest

handler:
	isb
	mrs x1, cntpct_el0
	str x1, [x3, #8]
	ldr x1, [x3]
	add x1, x1, #1
	dmb ish
	str x1, [x3]
	cmp x5, #3
	b.eq 1f
	ldr w1, [x7, #0xc]
	str w1, [x7, #0x10]
	b 2f
1:	mrs x1, ICC_IAR1_EL1
	dsb sy
	msr ICC_EOIR1_EL1, x1
	isb
2:	dsb sy
	strb wzr, [x4]
	eret
	.ltorg

	.balign 2048
vectors:
	.skip VECTOR_IRQ
	b handler
	.balign 4096
table:
	.quad DEVICE, PROGRAM_AT | MEMORY
	.skip 4096 - 16
other_program_end:

	.section .note.GNU-stack, "", %progbits
