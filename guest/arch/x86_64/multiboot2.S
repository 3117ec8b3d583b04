/*
 * Multiboot2 (specification 2.0): the header (3.1) of guest.mb2 and its entry (3.3), with EAX = 0x36D76289 and EBX =
 * the address of a list of tags. What the header asks for and the loader can't give is optional: a machine without a
 * screen boots too.
 */
#define MAGIC		    0xe85250d6
#define ARCHITECTURE_I386   0
#define OPTIONAL	    1
#define TAG_END		    0
#define TAG_ADDRESS	    2
#define TAG_ENTRY	    3
#define TAG_CONSOLE	    4
#define TAG_FRAME_BUFFER    5
#define CONSOLE_CAN_BE_TEXT 2
/* The screen that it prefers: pixels, and bits of a pixel. */
#define WIDTH		    1024
#define HEIGHT		    768
#define DEPTH		    32

	.section .multiboot2, "ax", @progbits
	.balign 8
header:
	.long MAGIC, ARCHITECTURE_I386, header_end - header, -(MAGIC + ARCHITECTURE_I386 + (header_end - header))
	.short TAG_ADDRESS, 0
	.long 24, header, image_start, image_file_end, image_end
	.short TAG_ENTRY, 0
	.long 12, entry, 0		/* padded to 8 bytes, as all tags are */
	.short TAG_CONSOLE, OPTIONAL
	.long 12, CONSOLE_CAN_BE_TEXT, 0
	.short TAG_FRAME_BUFFER, OPTIONAL
	.long 20, WIDTH, HEIGHT, DEPTH, 0
	.short TAG_END, 0
	.long 8
header_end:

/* Then as by PVH, whose entry clears .bss: the mark is elsewhere. */
	.code32
entry:
	movl $1, boot_is_multiboot2
	jmp pvh_entry

	.data
	.balign 4
	.globl boot_is_multiboot2
boot_is_multiboot2:
	.long 0

	.section .note.GNU-stack, "", @progbits
