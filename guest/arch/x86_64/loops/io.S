/*
 * Timed loops of input and output: print, io-latency-*, vm-switch. Contract, operands: arch/timed.h,
 * timed_shared.h; the page shared with the other side: common/latency_page.h. The loops of in, out, eventfd,
 * ... are in their files in bench/.
 */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t print_run(uint64_t iterations, struct port_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   registers edx = port, r8 = string, r9 = bytes
 *   clobbers  rcx, rsi, r11, flags
 */
.macro print is_run
	TIMED_COUNT
	mov PORT_PORT(%rsi), %edx
	mov PORT_STRING(%rsi), %r8
	mov PORT_BYTES(%rsi), %r9
1:
	mov %r8, %rsi
	mov %r9, %rcx
.if \is_run
	rep outsb
.endif
	TIMED_NEXT 1b
.endm
	TIMED_PAIR print, print

/*
 * uint64_t io_latency_out_run(uint64_t iterations, struct latency_operand *operand);   also _control
 * uint64_t io_latency_in_run(uint64_t iterations, struct latency_operand *operand);    also _control
 * uint64_t vm_switch_run(uint64_t iterations, struct latency_operand *operand);        also _control
 *
 * Out: from the kick to the other side's stamp. In: from the stamp to the handler. Switch: from the kick to
 * the stamp, which an interrupt follows.
 *
 *   in        rdi = iterations, rsi = operand
 *   out       rax = ticks; operand: outside
 *   registers r8 = sum, r9 = start, r10 = page, r11 = old count (of stamps or of interrupts), rcx = handled;
 *             after the wait rax = end, rcx = stamp
 *   clobbers  rdx, rdi, flags
 */

/* Waits for the stamp. Labels 2, 3. */
.macro until_stamp
2:
	cmp (%r10), %r11
	jne 3f
	cmpl $0, LATENCY_OPERAND_YIELD(%rsi)
	je 2b
	pause
	jmp 2b
3:
.endm

/* Interrupts are enabled while it spins; before a halt STI keeps them off until the HLT. Label 2. */
.macro before_interrupt
	mov HANDLED_COUNT(%rcx), %r11
	cmpl $0, LATENCY_OPERAND_HALTS(%rsi)
	jne 2f
	sti
2:
.endm

/* Waits for the interrupt, spinning or halted. Labels 2, 3, 6. */
.macro until_interrupt
	cmpl $0, LATENCY_OPERAND_HALTS(%rsi)
	jne 6f
2:
	cmp HANDLED_COUNT(%rcx), %r11
	jne 3f
	cmpl $0, LATENCY_OPERAND_YIELD(%rsi)
	je 2b
	pause
	jmp 2b
6:
	cmp HANDLED_COUNT(%rcx), %r11
	jne 3f
	sti
	hlt
	cli
	jmp 6b
3:
	cli
.endm

/* A new pass starts the operand's settle_ticks after the previous one. Clobbers rax, rdx, r11. Label 7. */
.macro settle
	mov LATENCY_OPERAND_SETTLE(%rsi), %r11
7:
	pause
	rdtsc
	TIMED_JOIN
	sub %r9, %rax
	cmp %r11, %rax
	jb 7b
.endm

/* `awaits`: stamp or interrupt, which ends the pass. `adds`: to_stamp or from_stamp. */
.macro latency awaits, adds
	EACH_BEGIN
1:
	mov LATENCY_OPERAND_PAGE(%rsi), %r10
	mov LATENCY_OPERAND_HANDLED(%rsi), %rcx
.ifc \awaits, stamp
	mov LATENCY_PAGE_STAMPS(%r10), %r11
.else
	before_interrupt
.endif
	EACH_START
	mov LATENCY_OPERAND_KICK(%rsi), %edx
	out %al, %dx
	until_\awaits
.ifc \awaits, stamp
	TIMED_NOW
.else
	mov HANDLED_STAMP(%rcx), %rax
.endif
	mov LATENCY_PAGE_STAMP(%r10), %rcx
	cmp %rcx, %rax
	jb 4f
	cmp %r9, %rcx
	jb 4f
.ifc \adds, to_stamp
	sub %r9, %rcx
	add %rcx, %r8
.else
	sub %rcx, %rax
	add %rax, %r8
.endif
	jmp 5f
4:
	incq LATENCY_OPERAND_OUTSIDE(%rsi)
5:
	settle
	EACH_NEXT
.endm
	TIMED_EACH_PAIR io_latency_out, latency, stamp, to_stamp
	TIMED_EACH_PAIR io_latency_in, latency, interrupt, from_stamp
	TIMED_EACH_PAIR vm_switch, latency, interrupt, to_stamp

	.section .note.GNU-stack, "", @progbits
