/*
 * GNU-as macros for timed loops in assembly files: those of arch/x86_64/loops/, and those of benchmarks
 * from outside (docs/examples/mixed.S). The contract of a loop, its free registers among it, is arch/timed.h's.
 *
 * A loop is a macro whose first argument, is_run, says whether the operation is in it. TIMED_PAIR makes
 * NAME_run and NAME_control of it. Labels are numbers, so that they do not become symbols; macros that a loop
 * uses may have labels of their own, which their comments name. The comment of a loop lists what it gets and
 * gives, what it has in registers, and what else it clobbers.
 *
 *	.macro read_twice is_run
 *		TIMED_COUNT
 *	1:
 *	.if \is_run
 *		mov (%rsi), %rax
 *		mov 8(%rsi), %rax
 *	.endif
 *		TIMED_NEXT 1b
 *	.endm
 *		TIMED_PAIR read_twice, read_twice
 */

#define TIMED_SECTION .text.timed
#include "timed_shared_macros.S"

/* ---- Passes timed as a whole ----------------------------------------------------------------- */

/* r11 counts the passes. */
.macro TIMED_COUNT
	mov %rdi, %r11
.endm

.macro TIMED_NEXT pass
	dec %r11
	jnz \pass
.endm

/* ---- Passes timed one by one and summed ------------------------------------------------------ */

/*
 * Ordered reads of the counter into edx:eax. Intel SDM vol. 2B, RDTSC: MFENCE;LFENCE before it waits until
 * all earlier instructions have completed and their loads and stores are globally visible; LFENCE after it
 * keeps later instructions from starting. On AMD, LFENCE orders like that if it is dispatch-serializing (MSR
 * C001_1029, bit 1), which every system since 2018 sets, as does lfence.c without a hypervisor. CPUID, used
 * by Paoloni's often copied recipe, is no option: it exits to the hypervisor.
 */
.macro TIMED_CLOCK
	mfence
	lfence
	rdtsc
	lfence
.endm

/* edx:eax to rax. */
.macro TIMED_JOIN
	shl $32, %rdx
	or %rdx, %rax
.endm

/* The counter in rax; clobbers rdx. */
.macro TIMED_NOW
	TIMED_CLOCK
	TIMED_JOIN
.endm

/*
 * For rows with SELF_TIMED. rdi counts the passes, r8 is the sum, r9 the time at EACH_START. A pass begins at
 * label 1; what is between EACH_START and EACH_STOP is timed, the rest of a pass is not.
 */
.macro EACH_BEGIN
	xor %r8d, %r8d
.endm

/* Clobbers rax, rdx. */
.macro EACH_START
	TIMED_NOW
	mov %rax, %r9
.endm

/* Clobbers rax, rdx. */
.macro EACH_STOP
	TIMED_NOW
	sub %r9, %rax
	add %rax, %r8
.endm

.macro EACH_NEXT
	dec %rdi
	jnz 1b
	mov %r8, %rax
.endm

.macro EACH_NOTHING
	EACH_BEGIN
1:
	EACH_START
	EACH_STOP
	EACH_NEXT
.endm

/* ---- Parts of loops -------------------------------------------------------------------------- */

/* The vendor's hypercall instruction, by the zero flag: VMCALL (Intel, Zhaoxin) if it is set, else VMMCALL
 * (AMD, Hygon). Labels 2, 3. */
.macro VENDOR_HYPERCALL
	jz 2f
	vmmcall
	jmp 3f
2:
	vmcall
3:
.endm
