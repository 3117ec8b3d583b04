/*
 * A kernel other than the guest, for the monitor's tests: sends its command line, its initial RAM disk
 * and a newline to COM1, and powers off. With --defsym BZIMAGE=1 it is a bzImage, else an ELF file for
 * PVH. It executes no hypercall. --defsym OFF= is what it writes to power off (0x2000).
 *
 * Linux enters with ESI = boot_params (Documentation/arch/x86/boot.rst), PVH with EBX = start_info
 * (xen/include/public/arch-x86/hvm/start_info.h), both in flat 32-bit protected mode.
 */
	.ifndef OFF
	.set OFF, 0x2000
	.endif
	.ifdef BZIMAGE
	.org 0x1f1
	.byte 1				/* setup_sects: one sector follows this one */
	.org 0x1fe
	.word 0xaa55			/* boot_flag */
	.byte 0xeb, 0x66		/* jump: its offset gives the end of the header */
	.ascii "HdrS"
	.word 0x20f			/* version 2.15 */
	.org 0x211
	.byte 1				/* loadflags: LOADED_HIGH */
	.org 0x22c
	.long 0x37ffffff		/* initrd_addr_max */
	.long 0x1000			/* kernel_alignment */
	.org 0x238
	.long 2047			/* cmdline_size */
	.org 0x260
	.long 0x1000			/* init_size */
	.org 0x400
	.else
	.section .note.pvh, "a", @note
	.long 4, 4, 18			/* name and value are 4 bytes each; XEN_ELFNOTE_PHYS32_ENTRY */
	.asciz "Xen"
	.long _start
	.text
	.endif
	.code32
	.globl _start
_start:
	.ifdef BZIMAGE
	mov 0x228(%esi), %edi		/* cmd_line_ptr */
	mov 0x218(%esi), %ebp		/* ramdisk_image */
	mov 0x21c(%esi), %ecx		/* ramdisk_size */
	.else
	mov 24(%ebx), %edi		/* cmdline */
	mov 16(%ebx), %eax		/* modules */
	mov (%eax), %ebp		/* the first one's start, */
	mov 8(%eax), %ecx		/* and its bytes */
	.endif
	mov $0x3f8, %edx
1:	mov (%edi), %al
	test %al, %al
	jz 2f
	out %al, %dx
	inc %edi
	jmp 1b
2:	jecxz 3f
	mov (%ebp), %al
	out %al, %dx
	inc %ebp
	dec %ecx
	jmp 2b
3:	mov $'\n', %al
	out %al, %dx
	mov $0x604, %edx		/* ACPI's power switch */
	mov $OFF, %eax			/* SLP_TYP << 10 | SLP_EN; 0x2000 is QEMU's */
	out %ax, %dx
	hlt
