/* Timed loops that write a register: set-cr3, write-vector-base, tlb-invalidate. Contract, operands:
 * arch/timed.h. */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t set_cr3_run(uint64_t iterations, struct root_operand *operand);                  also _control
 * uint64_t write_vector_base_run(uint64_t iterations, struct register_operand *operand);    also _control
 * uint64_t tlb_invalidate_run(uint64_t iterations, struct register_operand *operand);       also _control
 *
 *   in        a0 = iterations, a1 = operand
 *   registers a2 = value
 *   clobbers  t6
 */
.macro register is_run, operation
	TIMED_COUNT
	ld a2, REGISTER_VALUE(a1)
1:
.if \is_run
	\operation
.endif
	TIMED_NEXT 1b
.endm

/* Translations of the same address space stay. */
.macro write_root
	csrw satp, a2
.endm
	TIMED_PAIR set_cr3, register, write_root

.macro write_vector_base
	csrw stvec, a2
.endm
	TIMED_PAIR write_vector_base, register, write_vector_base

/* All of this CPU's translations. */
.macro invalidate_tlb
	sfence.vma
.endm
	TIMED_PAIR tlb_invalidate, register, invalidate_tlb
