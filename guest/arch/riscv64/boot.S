/*
 * From Linux's RISC-V boot protocol (Documentation/arch/riscv/boot.rst) to guest_main(), and from SBI's
 * hart_start to cpu_started().
 *
 *   first CPU     a0 = number of the hart, a1 = physical address of the device tree
 *   others        a0 = number of the hart, a1 = hart_start's argument: this CPU's struct cpu
 *
 * Both enter in supervisor mode, with paging off and interrupts masked.
 */
#include <arch/cpu.h>

#define STACK_BYTES	  32768
#define TEXT_OFFSET	  0x200000
#define IMAGE_VERSION	  2		/* 0.2 */
/* A note under our own name, by which a monitor recognizes this guest. */
#define WORLDSWITCH_NOTE  1

	/* The Image's header (Documentation/arch/riscv/boot-image-header.rst). */
	.section .head, "ax", %progbits
	.option norvc
	.globl image_header
image_header:
	j first_entry
	.4byte 0
	.8byte TEXT_OFFSET
	.8byte image_bytes
	.8byte 0			/* little-endian */
	.4byte IMAGE_VERSION, 0
	.8byte 0
	.ascii "RISCV\0\0\0"
	.ascii "RSC\x05"
	.4byte 0

	.section .note.worldswitch, "a", %note
	.balign 4
	.4byte worldswitch_name_end - worldswitch_name, 0, WORLDSWITCH_NOTE
worldswitch_name:
	.asciz "worldswitch"
worldswitch_name_end:
	.balign 4

	.text
first_entry:
	csrw sie, zero
	csrci sstatus, SSTATUS_SIE
	la t0, trap_entry
	csrw stvec, t0
	/* Is it at its link address? */
	la t0, image_header
	li t1, GUEST_BASE
	bne t0, t1, stand_still

	la t0, bss_start
	la t1, image_end
1:	sd zero, 0(t0)
	addi t0, t0, 8
	bltu t0, t1, 1b

	la sp, boot_stack_end
	la tp, cpus
	la t0, boot_hart
	sd a0, 0(t0)
	la t0, boot_tree
	sd a1, 0(t0)
	call boot_map			/* turns paging on */
	call guest_main			/* does not return */

	.globl other_entry
other_entry:
	csrw sie, zero
	csrci sstatus, SSTATUS_SIE
	la t0, trap_entry
	csrw stvec, t0
	mv tp, a1
	la t0, boot_satp
	ld t0, 0(t0)
	csrw satp, t0
	sfence.vma
	ld sp, CPU_STACK_END(tp)
	call cpu_started		/* does not return */

	.globl stand_still
stand_still:
	csrw sie, zero
1:	wfi
	j 1b

	.bss
	.balign 16
boot_stack:
	.skip STACK_BYTES
boot_stack_end:

	.section .note.GNU-stack, "", %progbits
