/*
 * From the boot protocols' 32-bit entries to guest_main() in long mode.
 *
 *   PVH (Xen's docs/misc/pvh.pandoc): EBX = physical address of hvm_start_info
 *   multiboot (specification 0.6.96, 3.2): EAX = 0x2BADB002, EBX = its information structure
 *
 * Both enter with paging off, flat 32-bit segments, interrupts off. Saves EBX and which protocol it was,
 * zeroes .bss, maps the low 4 GiB 1:1 with 2 MiB pages and enters long mode.
 */
#include <arch/cpu.h>

#define XEN_ELFNOTE_PHYS32_ENTRY 18
/* A note under our own name, by which a monitor recognizes this guest. */
#define WORLDSWITCH_NOTE	 1
#define MULTIBOOT_MAGIC		 0x1badb002
/* Page-aligned modules; memory map required; load addresses given below (bits 0, 1, 16). */
#define MULTIBOOT_FLAGS		 0x00010003

	.section .note.pvh, "a", @note
	.balign 4
	.long 4, 4, XEN_ELFNOTE_PHYS32_ENTRY
	.asciz "Xen"
	.long pvh_entry
	.long worldswitch_name_end - worldswitch_name, 0, WORLDSWITCH_NOTE
worldswitch_name:
	.asciz "worldswitch"
worldswitch_name_end:
	.balign 4

	.section .multiboot, "a", @progbits
	.balign 4
multiboot_header:
	.long MULTIBOOT_MAGIC, MULTIBOOT_FLAGS, -(MULTIBOOT_MAGIC + MULTIBOOT_FLAGS)
	.long multiboot_header, image_start, image_file_end, image_end, multiboot_entry

	.section .text.boot, "ax", @progbits
	.code32
	.globl pvh_entry
pvh_entry:
	xor %ebp, %ebp
	jmp common
multiboot_entry:
	mov $1, %ebp
common:
	cli
	cld
	mov $bss_start, %edi
	mov $image_end, %ecx
	sub %edi, %ecx
	shr $2, %ecx
	xor %eax, %eax
	rep stosl
	mov %ebp, boot_is_multiboot
	mov %ebx, boot_handover

	/* Four tables of 512 entries of 2 MiB: the low 4 GiB. */
	movl $boot_pdpt + 3, boot_pml4
	xor %ecx, %ecx
	mov $0x83, %eax			/* present, writable, 2 MiB */
1:	mov %eax, boot_pd(,%ecx,8)
	add $0x200000, %eax
	inc %ecx
	cmp $2048, %ecx
	jb 1b
	mov $boot_pd + 3, %eax
	xor %ecx, %ecx
1:	mov %eax, boot_pdpt(,%ecx,8)
	add $0x1000, %eax
	inc %ecx
	cmp $4, %ecx
	jb 1b

	mov $CR4_PAE, %eax
	mov %eax, %cr4
	mov $boot_pml4, %eax
	mov %eax, %cr3
	mov $MSR_EFER, %ecx
	rdmsr
	or $EFER_LME, %eax
	wrmsr
	mov $CR0_LONG, %eax
	mov %eax, %cr0
	lgdt gdt_register
	ljmp $SELECTOR_CODE, $long_mode

	.code64
long_mode:
	mov $SELECTOR_DATA, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	xor %eax, %eax
	mov %eax, %fs
	mov %eax, %gs
	mov $boot_stack_end, %rsp
	call guest_main			/* does not return */
	ud2

	.data
	.balign 8
	.globl gdt
gdt:
	.quad 0
	.quad 0x00af9b000000ffff	/* code: 64-bit, present, ring 0 */
	.quad 0x00cf93000000ffff	/* data */
	.quad 0, 0			/* TSS: tables_init() */
	.quad 0, 0			/* LDT: tables_init() */
	.if . - gdt != GDT_BYTES
	.error "GDT_BYTES in cpu.h is not the GDT's size"
	.endif
	.globl gdt_register
gdt_register:
	.word GDT_BYTES - 1
	.quad gdt

	.bss
	.balign 4096
boot_pml4:
	.skip 4096
boot_pdpt:
	.skip 4096
boot_pd:
	.skip 4 * 4096
boot_stack:
	.skip 32768
boot_stack_end:
	.globl boot_is_multiboot, boot_handover
boot_is_multiboot:
	.long 0
boot_handover:
	.long 0

	.section .note.GNU-stack, "", @progbits
