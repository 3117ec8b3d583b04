/*
 * From Linux's arm64 boot protocol (Documentation/arch/arm64/booting.rst) to guest_main(), and from PSCI's
 * CPU_ON to cpu_started().
 *
 *   first CPU     x0 = physical address of the device tree
 *   others        x0 = CPU_ON's context argument: this CPU's struct cpu
 *
 * Both enter with the MMU off, interrupts masked, at EL2 or EL1. The image may be anywhere: relocations are
 * applied first. With the MMU off, writes bypass the caches, so the image's cache lines are invalidated
 * before and after.
 */
#include "common/arm64_boot.S"
#include <arch/cpu.h>

#define STACK_BYTES	  32768
/* A note under our own name, by which a monitor recognizes this guest. */
#define WORLDSWITCH_NOTE  1

	.section .head, "ax", %progbits
	image_header first_entry

	.section .note.worldswitch, "a", %note
	.balign 4
	.long worldswitch_name_end - worldswitch_name, 0, WORLDSWITCH_NOTE
worldswitch_name:
	.asciz "worldswitch"
worldswitch_name_end:
	.balign 4

	.text
first_entry:
	msr daifset, #0xf
	mov x19, x0
	bl drop_image_lines

	relocate_and_clear GUEST_BASE

	address x0, boot_stack_end
	mov sp, x0
	bl enter_level
	address x1, cpu_level
	str x0, [x1]
	address x18, cpus
	mov x0, x19
	bl boot_map			/* void boot_map(uint64_t tree) */
	bl drop_image_lines
	bl mmu_on
	mov x0, x19
	address x1, boot_tree
	str x0, [x1]
	bl guest_main			/* does not return */

	.globl other_entry
other_entry:
	msr daifset, #0xf
	mov x18, x0
	bl enter_level
	bl mmu_on
	ldr x0, [x18, #CPU_STACK_END]
	mov sp, x0
	bl cpu_started			/* does not return */

/*
 * uint64_t enter_level(void);   sets this CPU up for its exception level, and returns that
 *   out  x0 = LEVEL_...   clobbers x1
 * At EL0 or EL3 the CPU stops.
 */
enter_level:
	mrs x0, CurrentEL
	cmp x0, #CURRENT_EL1
	b.eq 1f
	cmp x0, #CURRENT_EL2
	b.ne stand_still
	msr cntvoff_el2, xzr
	mrs x0, id_aa64mmfr1_el1
	ubfx x0, x0, #ID_MMFR1_VH_SHIFT, #4
	cbz x0, 2f
	ldr x1, =(HCR_E2H | HCR_TGE | HCR_RW)
	msr hcr_el2, x1
	isb
	mov x0, #LEVEL_EL2_VHE
	ret
2:	ldr x1, =(HCR_RW | HCR_AMO | HCR_IMO | HCR_FMO)
	msr hcr_el2, x1
	isb
	mov x0, #LEVEL_EL2
	ret
1:	mov x0, #LEVEL_EL1
	ret

	.globl stand_still
stand_still:
	msr daifset, #0xf
	wfi
	b stand_still

/*
 * void mmu_on(void);   loads the values of mmu_registers, set by boot_map(), and the vectors
 *   clobbers x0 to x5
 */
mmu_on:
	address x0, mmu_registers	/* mair, tcr, ttbr0, sctlr */
	ldp x1, x2, [x0]
	ldp x3, x4, [x0, #16]
	address x5, vectors
	address x0, cpu_level
	ldr x0, [x0]
	cmp x0, #LEVEL_EL2
	b.eq 1f
	msr vbar_el1, x5
	msr mair_el1, x1
	msr tcr_el1, x2
	msr ttbr0_el1, x3
	isb
	tlbi vmalle1
	dsb nsh
	ic iallu
	dsb nsh
	isb
	msr sctlr_el1, x4
	isb
	ret
1:	msr vbar_el2, x5
	msr mair_el2, x1
	msr tcr_el2, x2
	msr ttbr0_el2, x3
	isb
	tlbi alle2
	dsb nsh
	ic iallu
	dsb nsh
	isb
	msr sctlr_el2, x4
	isb
	ret

	define_drop_image_lines

	.bss
	.balign 16
boot_stack:
	.skip STACK_BYTES
boot_stack_end:

	.section .note.GNU-stack, "", %progbits
