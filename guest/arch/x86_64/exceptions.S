/* Entries of the 32 exceptions, try_call()'s frame, and the handlers of the guest's own interrupts. */
#include <arch/cpu.h>

#define EXCEPTIONS 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, \
	22, 23, 24, 25, 26, 27, 28, 29, 30, 31

	.text
	.code64

/*
 * Each exception's entry pushes the same frame and jumps to exception_common:
 *   (rsp) vector, error code (0 if the CPU pushes none), rip, cs, rflags, rsp, ss
 * It never returns to the faulting code: exception_taken() abandons the try_call().
 */
	.irp vector, EXCEPTIONS
	.p2align 4
exception_\vector:
	/* #DF #TS #NP #SS #GP #PF #AC #CP #VC #SX push an error code (SDM vol. 3A, table 6-1). */
	.if !((\vector == 8) || ((\vector >= 10) && (\vector <= 14)) || (\vector == 17) || (\vector == 21) || (\vector == 29) || (\vector == 30))
	push $0
	.endif
	push $\vector
	jmp exception_common
	.endr

exception_common:
	mov %rsp, %rdi
	and $-16, %rsp
	cld
	call exception_taken		/* void exception_taken(const struct exception_frame *) */
	ud2

	.section .rodata
	.balign 8
	.globl exception_entries
exception_entries:
	.irp vector, EXCEPTIONS
	.quad exception_\vector
	.endr
	.text

/*
 * bool try_enter(void (*fn)(void *), void *arg, struct try_frame *frame);
 *   in   rdi = fn, rsi = arg, rdx = frame (its first word keeps the stack pointer)
 *   out  true when fn returned, false when try_leave() abandoned it
 *   stack at the kept pointer: rflags r15 r14 r13 r12 rbx rbp, return address
 */
	.globl try_enter
try_enter:
	push %rbp
	push %rbx
	push %r12
	push %r13
	push %r14
	push %r15
	pushfq
	mov %rsp, (%rdx)
	mov %rdi, %rax
	mov %rsi, %rdi
	call *%rax
	mov $1, %eax
	jmp try_return

/*
 * _Noreturn void try_leave(struct try_frame *frame);   in rdi
 */
	.globl try_leave
try_leave:
	mov (%rdi), %rsp
	xor %eax, %eax
try_return:
	popfq
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbx
	pop %rbp
	ret

/* Clobbers rax. */
	.macro end_of_interrupt x2apic
	.if \x2apic
	push %rcx
	push %rdx
	mov $MSR_X2APIC_EOI, %ecx
	xor %eax, %eax
	xor %edx, %edx
	wrmsr
	pop %rdx
	pop %rcx
	.else
	mov apic_registers, %rax
	movl $0, XAPIC_EOI(%rax)
	.endif
	.endm

/*
 * The handler of on_cpu()'s interrupt, one version for each way to signal end of interrupt. It counts where
 * it interrupted its CPU: in the halt instruction of cpu_rest_loop, in its waiting loop, or elsewhere.
 * `ready` is cleared before `ipi_received` is incremented: a sender that sees its interrupt counted must
 * not take an old `ready` for a CPU that waits again.
 */
	.macro ipi_entry name, x2apic
	.p2align 4
	.globl \name
\name:
	push %rax
	mov 8(%rsp), %rax		/* the interrupted address */
	cmp $rest_halted, %rax
	jne 1f
	lock incq ipi_found_halted
	jmp 2f
1:	cmp $rest_spin, %rax
	jb 2f
	cmp $rest_spin_end, %rax
	ja 2f
	lock incq ipi_found_running
2:	movq $0, %gs:CPU_READY
	lock incq ipi_received
	end_of_interrupt \x2apic
	pop %rax
	iretq
	.endm

	ipi_entry ipi_entry_xapic, 0
	ipi_entry ipi_entry_x2apic, 1

/* The handler of the I/O latency rows: stamps, counts, and checks whether it interrupted HLT. */
	.macro latency_entry name, x2apic
	.p2align 4
	.globl \name
\name:
	push %rax
	push %rdx
	mfence
	lfence
	rdtsc
	shl $32, %rdx
	or %rdx, %rax
	mov %rax, latency_handled + 8
	mov 16(%rsp), %rax		/* the interrupted address */
	cmpb $0xf4, -1(%rax)
	jne 1f
	incq latency_handled + 16
1:	incq latency_handled
	end_of_interrupt \x2apic
	pop %rdx
	pop %rax
	iretq
	.endm

	latency_entry latency_entry_xapic, 0
	latency_entry latency_entry_x2apic, 1

/* The handler of the row irq-completion; the row itself ends the interrupt. */
	.globl completion_entry
completion_entry:
	incq completions_taken
	iretq

	.globl spurious_entry
spurious_entry:
	iretq

/*
 * _Noreturn void cpu_rest_loop(void);   gs: this CPU's struct cpu
 * How every CPU but the first waits: halted, or in a loop if its `spin` is set. STI keeps interrupts off
 * for one more instruction, so that none is taken between it and HLT.
 */
	.globl cpu_rest_loop
cpu_rest_loop:
	cli
	cmpq $0, %gs:CPU_SPIN
	jne 1f
	movq $1, %gs:CPU_READY
	sti
	hlt
rest_halted:
	jmp cpu_rest_loop
1:	movq $1, %gs:CPU_READY
	sti
rest_spin:
	pause
	cmpq $0, %gs:CPU_SPIN
	je cpu_rest_loop
	cmpq $0, %gs:CPU_READY
	jne rest_spin
rest_spin_end:
	jmp 1b

	.section .note.GNU-stack, "", @progbits
