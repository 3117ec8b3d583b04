/*
 * Timed loops that run with paging off: hypercall-unpaged, cpuid-unpaged, in-unpaged, event-channel-unpaged.
 * They jump to xen_unpaged (xen_unpaged.S), which calls their 32-bit part. Contract, operands:
 * arch/timed_xen_unpaged.h.
 */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * For all of them:
 *
 *   in        rdi = iterations, rsi = operand; in the 32-bit part edi and ebp
 *   out       rax = ticks
 *   stack     the time before the first pass
 *   clobbers  all but esp, of which xen_unpaged restores the callee-saved ones
 */

/* To the 32-bit part, by way of the operand's `enter`, and the first look at the clock. Label 9. */
.macro unpaged_begin enter
	lea 9f(%rip), %rax
	jmp *\enter(%rsi)
	.code32
9:
	mov %esi, %ebp
	TIMED_CLOCK
	push %edx
	push %eax
.endm

.macro unpaged_next
	dec %edi
	jnz 1b
.endm

/* The ticks in edx:eax; TIMED_FUNCTION ends it with the return to xen_unpaged. */
.macro unpaged_end
	TIMED_CLOCK
	pop %ecx
	pop %ebx
	sub %ecx, %eax
	sbb %ebx, %edx
	.code64
.endm

/*
 * uint64_t hypercall_unpaged_run(uint64_t iterations, struct unpaged_operand *operand);   also _control
 *
 *   out       operand: wrong, value
 *   registers ebx and ecx are Xen's first arguments: 0 is XENVER_version; dl = was it another result?
 */
.macro hypercall_unpaged is_run
	unpaged_begin UNPAGED_ENTER
	mov UNPAGED_WANTED(%ebp), %eax
	xor %edx, %edx
1:
	cmp UNPAGED_WANTED(%ebp), %eax
	setne %dl
	add %edx, UNPAGED_WRONG(%ebp)
	xor %ebx, %ebx
	xor %ecx, %ecx
	mov UNPAGED_NUMBER(%ebp), %eax
	cmpl $0, UNPAGED_AMD(%ebp)
.if \is_run
	VENDOR_HYPERCALL
.endif
	unpaged_next
	mov %eax, UNPAGED_VALUE(%ebp)
	unpaged_end
.endm
	TIMED_PAIR hypercall_unpaged, hypercall_unpaged

/*
 * uint64_t cpuid_unpaged_run(uint64_t iterations, struct unpaged_operand *operand);   also _control
 *
 *   out       operand: value, the vendor's name
 */
.macro cpuid_unpaged is_run
	unpaged_begin UNPAGED_ENTER
1:
	xor %eax, %eax
	xor %ecx, %ecx
.if \is_run
	cpuid
.endif
	unpaged_next
	mov %ebx, UNPAGED_VALUE(%ebp)
	mov %edx, UNPAGED_VALUE + 4(%ebp)
	mov %ecx, UNPAGED_VALUE + 8(%ebp)
	unpaged_end
.endm
	TIMED_PAIR cpuid_unpaged, cpuid_unpaged

/*
 * uint64_t in_unpaged_run(uint64_t iterations, struct unpaged_operand *operand);   also _control
 *
 *   out       operand: value
 *   registers edx = port
 */
.macro in_unpaged is_run
	unpaged_begin UNPAGED_ENTER
	mov UNPAGED_NUMBER(%ebp), %edx
1:
.if \is_run
	in %dx, %al
.endif
	unpaged_next
	movzbl %al, %eax
	mov %eax, UNPAGED_VALUE(%ebp)
	unpaged_end
.endm
	TIMED_PAIR in_unpaged, in_unpaged

/*
 * uint64_t event_round_unpaged_run(uint64_t iterations, struct unpaged_event_operand *operand);
 * also _control
 *
 * The round trip of xen.S, with the lower halves of its operand's fields.
 *
 *   out       operand: events, waits
 *   registers edx = pending, esi = bit; eax, ebx and ecx are Xen's
 */

/* Labels 2, 3. */
.macro xen_call_32 number, command, argument
	mov $\number, %eax
	mov $\command, %ebx
	mov \argument, %ecx
	cmpl $0, EVENT_CALL(%ebp)
	VENDOR_HYPERCALL
.endm

.macro event_round_unpaged is_run
	unpaged_begin UNPAGED_EVENT_ENTER
	mov EVENT_PENDING(%ebp), %edx
	mov EVENT_BIT(%ebp), %esi
1:
.if \is_run
	xen_call_32 CALL_EVENT_CHANNEL, EVENT_CHANNEL_SEND, EVENT_SEND(%ebp)
4:
	lock btr %esi, (%edx)
	jc 5f
	incl EVENT_WAITS(%ebp)
	xen_call_32 CALL_SCHED, SCHED_POLL, EVENT_POLL(%ebp)
	jmp 4b
5:
	incl EVENT_EVENTS(%ebp)
.endif
	unpaged_next
	unpaged_end
.endm
	TIMED_PAIR event_round_unpaged, event_round_unpaged

	.section .note.GNU-stack, "", @progbits
