/* A guest that sets a timer, works, halts, handles the timer's interrupt, and so on; it prints its clock now and
 * then. With -icount it must print the same in every boot, whatever the host does (lab/quirks.toml, idle-clock-jump). */
#define ROUNDS  256
#define PRINTED 32 /* rounds between two lines */
#ifndef WORK
#define WORK 200 /* iterations of the two loops of a round, and a few at random */
#define SPIN     /* an instruction of the first loop */
#endif

#if defined(__i386__)

/* Booted by multiboot; with QEMU's isa-debug-exit at 0xf4 its status is 1. */
#define APIC     0xfee00000
#define APIC_EOI 0xb0
#define VECTOR   0x40

	.code32
	.section .text
	.balign 4
	.long 0x1badb002, 0, -0x1badb002
	.globl _start
_start:
	cli
	mov $stack_end, %esp
	lgdt gdtr
	ljmp $8, $1f
1:	mov $16, %ax
	mov %ax, %ds
	mov %ax, %es
	mov %ax, %ss
	mov $0xff, %al /* the 8259s: masked */
	out %al, $0x21
	out %al, $0xa1
	mov $handler, %eax
	mov $idt + VECTOR * 8, %edi
	mov %ax, (%edi)
	movw $8, 2(%edi)
	movw $0x8e00, 4(%edi) /* an interrupt gate */
	shr $16, %eax
	mov %ax, 6(%edi)
	lidt idtr
	mov $APIC, %ebx
	movl $0x1ff, 0xf0(%ebx)   /* on */
	movl $VECTOR, 0x320(%ebx) /* one shot */
	movl $0xb, 0x3e0(%ebx)    /* a tick of the bus is one of the timer */
	mov $0, %esi              /* rounds */
	mov $12345, %ebp          /* a random number */
2:	imul $1103515245, %ebp, %ebp
	add $12345, %ebp
	mov %ebp, %eax
	shr $16, %eax
	and $0x7fff, %eax
	add $WORK + 40000, %eax /* after the halt */
	mov %eax, 0x380(%ebx)
	mov %ebp, %ecx
	shr $24, %ecx
	add $WORK / 2, %ecx
3:	SPIN
	dec %ecx
	jnz 3b
	sti
	hlt
	cli
	inc %esi
	test $PRINTED - 1, %esi
	jnz 2b
	call print_clock
	cmp $ROUNDS, %esi
	jb 2b
	mov $0, %al
	out %al, $0xf4
	mov $0x604, %dx /* without that device: the machine's power-off, as its firmware leaves it */
	mov $0x2000, %ax
	out %ax, %dx
4:	hlt
	jmp 4b

handler:
	push %ecx
	mov %ebp, %ecx
	shr $24, %ecx
	add $WORK / 2, %ecx
5:	dec %ecx
	jnz 5b
	movl $0, APIC + APIC_EOI
	pop %ecx
	iret

print_clock:
	pusha
	rdtsc
	mov %eax, %edi
	mov %edx, %ecx
	call hex
	mov %edi, %ecx
	call hex
	mov $10, %al
	call put
	popa
	ret
hex:	mov $8, %ebp
6:	rol $4, %ecx
	mov %cl, %al
	and $15, %al
	add $48, %al
	cmp $58, %al
	jb 7f
	add $39, %al
7:	call put
	dec %ebp
	jnz 6b
	ret
put:	mov $0x3f8, %dx
	out %al, %dx
	ret

	.data
	.balign 8
gdt:	.quad 0, 0x00cf9b000000ffff, 0x00cf93000000ffff
gdtr:	.word 23
	.long gdt
idtr:	.word 256 * 8 - 1
	.long idt
	.bss
	.balign 16
idt:	.skip 256 * 8
	.skip 4096
stack_end:

#else

/* Booted as an ELF kernel on QEMU's virt with a GICv3 and PSCI by HVC. */
	.text
	.globl _start
_start:
	ldr x20, =0x09000000 /* the UART */
	ldr x0, =0x08000000  /* the distributor */
	mov w1, #0x12        /* affinity routing, group 1 */
	str w1, [x0]
	ldr x0, =0x080a0000 /* the redistributor of CPU 0 */
	str wzr, [x0, #0x14] /* awake */
1:	ldr w1, [x0, #0x14]
	tbnz w1, #2, 1b
	add x0, x0, #0x10000
	mov w1, #1 << 27 /* the virtual timer's interrupt */
	str w1, [x0, #0x80]  /* group 1 */
	str w1, [x0, #0x100] /* enabled */
	mov x1, #0xf0
	msr S3_0_C4_C6_0, x1 /* ICC_PMR_EL1 */
	mov x1, #1
	msr S3_0_C12_C12_7, x1 /* ICC_IGRPEN1_EL1 */
	isb
	mov w21, #0 /* rounds */
	ldr w22, =12345 /* a random number */
	ldr w23, =1103515245
	ldr w24, =12345
2:	madd w22, w22, w23, w24
	lsr w0, w22, #16
	and w0, w0, #0x7fff
	ldr w1, =WORK + 40000 /* after the halt */
	add w0, w0, w1
	msr cntv_tval_el0, x0
	mov x0, #1
	msr cntv_ctl_el0, x0
	lsr w1, w22, #24
	add w1, w1, #WORK / 2
3:	subs w1, w1, #1
	b.ne 3b
	/* Interrupts are masked: one that is pending ends the halt and is taken by hand. */
	wfi
	mrs x0, S3_0_C12_C12_0 /* ICC_IAR1_EL1 */
	msr cntv_ctl_el0, xzr
	isb
	msr S3_0_C12_C12_1, x0 /* ICC_EOIR1_EL1 */
	isb
	lsr w1, w22, #24
	add w1, w1, #WORK / 2
4:	subs w1, w1, #1
	b.ne 4b
	add w21, w21, #1
	tst w21, #PRINTED - 1
	b.ne 2b
	isb
	mrs x2, cntvct_el0
	mov w3, #16
5:	ror x2, x2, #60
	and w4, w2, #15
	add w5, w4, #48
	add w6, w4, #87
	cmp w4, #10
	csel w4, w5, w6, lo
	str w4, [x20]
	subs w3, w3, #1
	b.ne 5b
	mov w4, #10
	str w4, [x20]
	mov w1, #ROUNDS
	cmp w21, w1
	b.lo 2b
	ldr w0, =0x84000008 /* PSCI SYSTEM_OFF */
	hvc #0
6:	wfi
	b 6b
	.ltorg

#endif

	.section .note.GNU-stack,"",%progbits
