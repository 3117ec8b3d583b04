/*
 * Timed loops that write a register which exists for EL1 and for EL2: set-cr3, write-vector-base,
 * write-control-register, tlb-invalidate. Contract, operands: arch/timed.h.
 */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t set_cr3_run(uint64_t iterations, struct root_operand *operand);                      also _control
 * uint64_t write_vector_base_run(uint64_t iterations, struct register_operand *operand);        also _control
 * uint64_t write_control_register_run(uint64_t iterations, struct register_operand *operand);   also _control
 * uint64_t tlb_invalidate_run(uint64_t iterations, struct register_operand *operand);           also _control
 *
 *   in        x0 = iterations, x1 = operand
 *   registers x2 = value, x3 = plain_el2
 *   clobbers  x17, flags
 *
 * One loop with the name used at EL1 and at EL2 with E2H, one with the name used at EL2 without it.
 */
.macro by_level is_run, operation
	TIMED_COUNT
	ldp x2, x3, [x1, #REGISTER_VALUE]	/* value, plain_el2 */
	cbnz x3, 2f
1:
.if \is_run
	\operation el1
.endif
	TIMED_NEXT 1b
	b 9f
2:
.if \is_run
	\operation el2
.endif
	TIMED_NEXT 2b
9:
.endm

/* ISB: the new value takes effect only after it. */
.macro write_root level
	msr ttbr0_\level, x2
	isb
.endm
	TIMED_PAIR set_cr3, by_level, write_root

.macro write_vector_base level
	msr vbar_\level, x2
	isb
.endm
	TIMED_PAIR write_vector_base, by_level, write_vector_base

.macro write_control_register level
	msr sctlr_\level, x2
	isb
.endm
	TIMED_PAIR write_control_register, by_level, write_control_register

/* All of this CPU's TLB for the current translation regime. */
.macro invalidate_tlb level
.ifc \level, el1
	tlbi vmalle1
.else
	tlbi alle2
.endif
	dsb nsh
	isb
.endm
	TIMED_PAIR tlb_invalidate, by_level, invalidate_tlb
