/* A guest that executes 2 million PAUSEs, prints its clock and ends (lab/quirks.toml, pause-leaves-loop). Booted by
 * multiboot; with QEMU's isa-debug-exit at 0xf4 its status is 1. */
#define PAUSES 2000000

	.code32
	.section .text
	.balign 4
	.long 0x1badb002, 0, -0x1badb002
	.globl _start
_start:
	mov $PAUSES, %ecx
1:	pause
	dec %ecx
	jnz 1b
	rdtsc
	mov %eax, %ecx
	mov $8, %ebx
	mov $0x3f8, %dx
2:	rol $4, %ecx
	mov %cl, %al
	and $15, %al
	add $'0', %al
	cmp $'9' + 1, %al
	jb 3f
	add $'a' - '9' - 1, %al
3:	out %al, %dx
	dec %ebx
	jnz 2b
	mov $'\n', %al
	out %al, %dx
	mov $0, %al
	out %al, $0xf4
4:	hlt
	jmp 4b
