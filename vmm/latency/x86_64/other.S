/*
 * The second machine of VM Switch, flat 32-bit code at PROGRAM_AT (arch_boot_program). It takes interrupts:
 * the handler of VECTOR stamps, kicks and signals end of interrupt. latency.c has the same addresses.
 */
#define PROGRAM_AT 0x1000
#define STACK_END  0x8000
#define TABLE_AT   0x8000	/* the IDT */
#define CODE	   0x10		/* boot.c's selector */
#define VECTOR	   0x40
#define KICK	   0x80
#define PAGE	   0x10000000	/* struct latency_page: stamps, stamp */
#define APIC_EOI   0xfee000b0
#define APIC_SVR   0xfee000f0
#define APIC_ON	   0x1ff

	.section .rodata
	.code32
	.globl other_program, other_program_end
other_program:
	movl $(CODE << 16) + PROGRAM_AT + handler - other_program, TABLE_AT + VECTOR * 8
	movl $0x8e00, TABLE_AT + VECTOR * 8 + 4		/* a present interrupt gate */
	lidt PROGRAM_AT + table - other_program
	movl $APIC_ON, APIC_SVR
	out %al, $KICK
rest:	mov $STACK_END, %esp
	sti
	hlt
	jmp rest
handler:
	rdtsc
	mov %eax, PAGE + 8
	mov %edx, PAGE + 12
	addl $1, PAGE
	adcl $0, PAGE + 4
	movl $0, APIC_EOI
	out %al, $KICK
	jmp rest			/* some KVMs cannot emulate IRET */
	.balign 4
table:
	.word VECTOR * 8 + 7
	.long TABLE_AT
other_program_end:

	.section .note.GNU-stack, "", @progbits
