/*
 * Boot: from Linux' arm64 boot protocol (Documentation/arch/arm64/booting.rst) to first_steps() and
 * neve_main(), and from PSCI's CPU_ON to cpu_main().
 *
 *   first CPU     x0 = physical address of the device tree
 *   others        x0 = context argument of CPU_ON: this CPU's struct cpu
 *
 * Both enter at EL2 with the MMU off and interrupts masked. The image may be at any address: it is
 * relocated first. With the MMU off writes bypass the caches, so the image's lines are invalidated
 * before and after.
 */
#include "common/arm64_boot.S"
#include "cpu/cpu.h"

	.section .head, "ax", %progbits
	image_header first_entry

	.text
first_entry:
	msr daifset, #0xf
	mov x19, x0
	bl drop_image_lines

	relocate_and_clear NEVE_BASE

	address x0, boot_stack_end
	mov sp, x0
#if !PARAVIRT				/* CurrentEL does not show a paravirtual hypervisor's EL2 */
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
	bl mmu_on			/* void mmu_on(void); uses no stack unless patched */
	mov x0, x19
	bl cpu_main			/* does not return */

	define_drop_image_lines

	.bss
	.balign 16
boot_stack:
	.skip STACK_BYTES
boot_stack_end:

	.section .note.GNU-stack, "", %progbits
