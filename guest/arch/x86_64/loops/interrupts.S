/*
 * Timed loops of interrupts and their controller, the local APIC: ipi, interrupt-controller-trap,
 * irq-completion, self-ipi, the interrupt of task-priority, tsc-deadline, pv-ipi. Contract,
 * operands: arch/timed.h, arch/timed_exits.h, arch/kvm.h.
 */
#include <arch/cpu.h>
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/* An interrupt to this CPU arrives within a few instructions unless it is emulated: a bounded wait. */
#define MOST_LOOKS 10000

/* Sends the interrupt of the operand at rsi: struct ipi_operand or completion_operand. Clobbers rax, rcx,
 * rdx. Labels 2, 3. */
.macro send
	mov SEND_ICR_LOW(%rsi), %eax
	mov SEND_ICR_HIGH(%rsi), %edx
	cmpl $0, SEND_X2APIC(%rsi)
	je 2f
	mov $MSR_X2APIC_ICR, %ecx
	wrmsr
	jmp 3f
2:
	mov SEND_APIC(%rsi), %rcx
	mov %edx, XAPIC_ICR_HIGH(%rcx)
	mov %eax, XAPIC_ICR_LOW(%rcx)
3:
.endm

/* r10 = the address of the count, r11 = the count before. */
.macro load_count
	mov SEND_COUNT(%rsi), %r10
	mov (%r10), %r11
.endm

/* Signals the end of an interrupt; r10 = the APIC's registers. Clobbers rax, rcx, rdx. Labels 6, 7. */
.macro end_interrupt
	cmpl $0, SEND_X2APIC(%rsi)
	je 6f
	mov $MSR_X2APIC_EOI, %ecx
	xor %eax, %eax
	xor %edx, %edx
	wrmsr
	jmp 7f
6:
	movl $0, XAPIC_EOI(%r10)
7:
.endm

/*
 * uint64_t ipi_run(uint64_t iterations, struct ipi_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       rax = ticks
 *   registers r8 = sum, r9 = start, r10 = received, then ready; r11 = received before, then pauses left
 *   clobbers  rcx, rdx, rdi, flags
 *
 * Between two IPIs it waits until the receiver rests again, and some pauses more.
 */
.macro ipi is_run, sends=send
	EACH_BEGIN
1:
	EACH_START
.if \is_run
	load_count
	\sends
3:
	cmp (%r10), %r11
	jne 5f
	cmpl $0, IPI_YIELD(%rsi)
	je 3b
	pause
	jmp 3b
5:
.endif
	EACH_STOP
	mov IPI_READY(%rsi), %r10
6:
	pause
	cmpq $0, (%r10)
	je 6b
	mov IPI_SETTLE_PASSES(%rsi), %r11
7:
	pause
	dec %r11
	jnz 7b
	EACH_NEXT
.endm
	TIMED_PAIR ipi, ipi

/*
 * uint64_t pv_ipi_run(uint64_t iterations, struct pv_operand *operand);   also _control
 *
 * As ipi, but sends by KVM's hypercall (hypercalls.rst, KVM_HC_SEND_IPI): a bit map of receivers from an APIC ID
 * on, of two words, and the command.
 */
#define KVM_SEND_IPI 10

/* Labels 2, 3. */
.macro send_by_hypercall
	push %rbx
	push %rsi
	mov $KVM_SEND_IPI, %eax
	mov $1, %ebx
	xor %ecx, %ecx
	mov PV_ID(%rsi), %rdx
	cmpq $0, PV_AMD(%rsi)
	mov SEND_ICR_LOW(%rsi), %esi
	VENDOR_HYPERCALL
	pop %rsi
	pop %rbx
.endm

	TIMED_PAIR pv_ipi, ipi, send_by_hypercall

/*
 * uint64_t interrupt_controller_trap_run(uint64_t iterations, struct controller_operand *operand);
 * also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: value
 *   registers r8 = address, ecx = its MSR, edx:eax = wanted
 *   clobbers  r11, flags
 */
.macro controller_access is_run
	TIMED_COUNT
	mov CONTROLLER_ADDRESS(%rsi), %r8
	mov $MSR_X2APIC_DIVIDER, %ecx
	mov CONTROLLER_WANTED(%rsi), %rax
	xor %edx, %edx
	cmpl $0, CONTROLLER_X2APIC(%rsi)
	jne 2f
1:
.if \is_run
	mov %eax, (%r8)
.endif
	TIMED_NEXT 1b
	mov (%r8), %eax
	jmp 9f
2:
.if \is_run
	wrmsr
.endif
	TIMED_NEXT 2b
	rdmsr
9:
	mov %eax, %eax
	mov %rax, CONTROLLER_VALUE(%rsi)
.endm
	TIMED_PAIR interrupt_controller_trap, controller_access

/*
 * uint64_t irq_completion_run(uint64_t iterations, struct completion_operand *operand);   also _control
 * uint64_t irq_completion_begin(uint64_t, struct completion_operand *operand);
 * uint64_t irq_completion_end(uint64_t, struct completion_operand *operand);
 *
 *   in        rdi = iterations, rsi = operand
 *   out       rax = ticks; operand: missed
 *   registers r8 = sum, r9 = start, r10 = taken, then the APIC's registers; r11 = taken before
 *   clobbers  rcx, rdx, rdi, flags
 *
 * _begin takes an interrupt and _end ends it: the two halves of a pass, for the row's check.
 */

/* Labels 2 to 5. */
.macro take_interrupt
	load_count
	sti
	send
	mov $MOST_LOOKS, %ecx
4:
	cmp (%r10), %r11
	jne 5f
	dec %ecx
	jnz 4b
	incq COMPLETION_MISSED(%rsi)
5:
	cli
	mov SEND_APIC(%rsi), %r10
.endm

.macro completion is_run
	EACH_BEGIN
1:
	take_interrupt
	EACH_START
.if \is_run
	end_interrupt
.endif
	EACH_STOP
.if \is_run == 0
	end_interrupt
.endif
	EACH_NEXT
.endm
	TIMED_PAIR irq_completion, completion

.macro end_taken_interrupt
	mov SEND_APIC(%rsi), %r10
	end_interrupt
.endm
	TIMED_FUNCTION irq_completion_begin, take_interrupt
	TIMED_FUNCTION irq_completion_end, end_taken_interrupt

/*
 * uint64_t self_ipi_run(uint64_t iterations, struct completion_operand *operand);            also _control
 * uint64_t self_ipi_halted_run(uint64_t iterations, struct completion_operand *operand);     also _control
 * uint64_t self_ipi_priority_run(uint64_t iterations, struct completion_operand *operand);   also _control
 * uint64_t self_ipi_no_eoi_run(uint64_t iterations, struct completion_operand *operand);     also _control
 *
 * An interrupt to this CPU itself, until its handler has run: enabled by STI, waited for by HLT, masked by
 * the task priority until that falls, or not ended by its handler (ended afterwards, not timed).
 *
 *   in        rdi = iterations, rsi = operand
 *   out       rax = ticks
 *   registers r8 = sum, r9 = start, r10 = taken, then the APIC's registers; r11 = taken before
 *   clobbers  rcx, rdx, rdi, flags
 */

/* Labels 4, 5. */
.macro until_taken
	mov $MOST_LOOKS, %ecx
4:
	cmp (%r10), %r11
	jne 5f
	dec %ecx
	jnz 4b
5:
	cli
.endm

.macro self_ipi
	EACH_BEGIN
1:
	EACH_START
	load_count
	send
	sti
	until_taken
	EACH_STOP
	EACH_NEXT
.endm
	TIMED_EACH_PAIR self_ipi, self_ipi

.macro self_ipi_halted
	EACH_BEGIN
1:
	EACH_START
	load_count
	send
	sti
	hlt
	cli
	EACH_STOP
	EACH_NEXT
.endm
	TIMED_EACH_PAIR self_ipi_halted, self_ipi_halted

.macro set_priority level
	mov $\level, %eax
	mov %rax, %cr8
.endm

.macro self_ipi_priority
	EACH_BEGIN
1:
	EACH_START
	sti
	set_priority 15
	load_count
	send
	set_priority 0
	until_taken
	EACH_STOP
	EACH_NEXT
.endm
	TIMED_EACH_PAIR self_ipi_priority, self_ipi_priority

.macro self_ipi_no_eoi
	EACH_BEGIN
1:
	EACH_START
	load_count
	send
	sti
	until_taken
	EACH_STOP
	mov SEND_APIC(%rsi), %r10
	end_interrupt
	EACH_NEXT
.endm
	TIMED_EACH_PAIR self_ipi_no_eoi, self_ipi_no_eoi

/*
 * uint64_t tsc_deadline_run(uint64_t iterations, struct deadline_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       rax = ticks
 *   registers r8 = sum, r9 = start, r10 = count, r11 = its value before, edx:eax = deadline
 *   clobbers  rcx, rdi, flags
 */
.macro deadline
	EACH_BEGIN
1:
	EACH_START
	mov DEADLINE_COUNT(%rsi), %r10
	mov (%r10), %r11
	sti
	rdtsc
	add DEADLINE_TICKS(%rsi), %eax
	adc $0, %edx
	mov $MSR_TSC_DEADLINE, %ecx
	wrmsr
2:
	cmp (%r10), %r11
	je 2b
	cli
	EACH_STOP
	EACH_NEXT
.endm
	TIMED_EACH_PAIR tsc_deadline, deadline

	.section .note.GNU-stack, "", @progbits
