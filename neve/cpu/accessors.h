/*
 * READ(VBAR_EL2), WRITE(VBAR_EL2, value): access to the registers of registers.h. Code that uses a register
 * is written once; how the access is made depends on the build:
 *
 *   VHE=0|1            the hypervisor's own registers and its VM's: by the names of EL2 and EL1, or as in a
 *                      VHE hypervisor (HCR_EL2.E2H) by the names of EL1 and EL12
 *   PARAVIRT_none      the instruction itself: at EL2, or at virtual EL2 where it traps or is redirected
 *   PARAVIRT_calls     an HVC instead (registers.h, paravirtual calls)
 *   PARAVIRT_neve      by the register's nest: a load or store to the deferred page, the EL1 register, or an
 *                      HVC (Lim et al., section 6.4)
 */
#ifndef ACCESSORS_H
#define ACCESSORS_H

#include <stdint.h>

#include "cpu/cpu.h"
#include "cpu/registers.h"

#define READ(name)	   read_##name()
#define WRITE(name, value) write_##name(value)

/* ---- Instruction, call and page ------------------------------------------------------------- */

#define BY_NAME_(op0, op1, n, m, op2) s##op0##_##op1##_c##n##_c##m##_##op2
#define BY_NAME(op0, op1, n, m, op2)  BY_NAME_(op0, op1, n, m, op2)

/* An HVC with the value in x0. */
#define CALL_READ(number)                                                   \
	({                                                                  \
		register uint64_t x0_ __asm__("x0");                        \
		__asm__ volatile("hvc %1"                                   \
				 : "=r"(x0_)                                \
				 : "i"(CALL_MARK | (number) << CALL_NUMBER) \
				 : "memory");                               \
		x0_;                                                        \
	})
#define CALL_WRITE_(number, value)                                                                 \
	({                                                                                         \
		register uint64_t x0_ __asm__("x0") = (value);                                     \
		__asm__ volatile("hvc %1"                                                          \
				 :                                                                 \
				 : "r"(x0_), "i"(CALL_MARK | CALL_WRITE | (number) << CALL_NUMBER) \
				 : "memory");                                                      \
	})

/* This CPU's deferred page. Its address is in TTBR1_EL1, which a hypervisor that does not use the upper
 * half of the address space leaves free. */
#define DEFERRED(name) (((volatile uint64_t *)READ_REGISTER(ttbr1_el1))[OFFSET_##name / 8])

/* ---- By nest -------------------------------------------------------------------------------- */

#if VHE
#define OP1_VM_0	      5
#define OP1_VM_4	      4 /* SP_EL1 */
#define OP1_VM(op1)	      OP1_VM_##op1
#define OP1_REDIRECT(op1)     0
#define OP1_REDIRECT_VHE(op1) 0
#define OP1_TRANSLATED(op1)   0
#define OP1_TIMER_0	      5
#define OP1_TIMER_3	      5
#define OP1_TIMER_4	      4
#define OP1_TIMER(op1)	      OP1_TIMER_##op1
#define TIMER_CALLS_0	      1
#define TIMER_CALLS_3	      1
#else
#define OP1_VM(op1)	      op1
#define OP1_REDIRECT(op1)     op1
#define OP1_REDIRECT_VHE(op1) op1
#define OP1_TRANSLATED(op1)   op1
#define OP1_TIMER(op1)	      op1
#define TIMER_CALLS_0	      0
#define TIMER_CALLS_3	      0
#endif
#define TIMER_CALLS_4	   1
#define OP1_DIRECT(op1)	   op1
#define OP1_CONTROL(op1)   op1
#define OP1_CACHED(op1)	   op1
#define OP1_GIC(op1)	   op1
#define OP1_PMU(op1)	   op1
#define OP1_DEBUG(op1)	   op1
#define OP1_AUXILIARY(op1) op1
#define OP1_TRAP(op1)	   op1

/* How a paravirtual hypervisor accesses a register: by the instruction, a call, the deferred page, or the
 * EL1 register. Each WAYS_* is a pair: for reads, for writes. */
enum way { WAY_INSTRUCTION, WAY_CALL, WAY_PAGE, WAY_REDIRECT };

#if PARAVIRT == PARAVIRT_neve
#define WAYS_VM(op1)	       WAY_PAGE, WAY_PAGE
#define WAYS_CONTROL(op1)      WAY_PAGE, WAY_PAGE
#define WAYS_REDIRECT(op1)     WAY_REDIRECT, WAY_REDIRECT
#define WAYS_REDIRECT_VHE(op1) WAY_REDIRECT, WAY_REDIRECT
#define WAYS_CACHED(op1)       WAY_PAGE, WAY_CALL
#define WAYS_GIC(op1)	       WAY_PAGE, WAY_CALL
#define WAYS_DEBUG(op1)	       WAY_PAGE, WAY_CALL
#define WAYS_PMU(op1)	       WAY_PAGE, WAY_PAGE
#define WAYS_AUXILIARY(op1)    WAY_PAGE, WAY_PAGE
#if VHE
#define WAYS_TRANSLATED(op1) WAY_REDIRECT, WAY_REDIRECT
#else
#define WAYS_TRANSLATED(op1) WAY_PAGE, WAY_CALL
#endif
#elif PARAVIRT == PARAVIRT_calls
#define WAYS_VM(op1)	    WAY_CALL, WAY_CALL
#define WAYS_CONTROL(op1)   WAY_CALL, WAY_CALL
#define WAYS_CACHED(op1)    WAY_CALL, WAY_CALL
#define WAYS_GIC(op1)	    WAY_CALL, WAY_CALL
/* These trap on an ARMv8.0 CPU too. */
#define WAYS_DEBUG(op1)	    WAY_INSTRUCTION, WAY_INSTRUCTION
#define WAYS_PMU(op1)	    WAY_INSTRUCTION, WAY_INSTRUCTION
#define WAYS_AUXILIARY(op1) WAY_INSTRUCTION, WAY_INSTRUCTION
#if VHE
#define WAYS_REDIRECT(op1)     WAY_REDIRECT, WAY_REDIRECT
#define WAYS_REDIRECT_VHE(op1) WAY_REDIRECT, WAY_REDIRECT
#define WAYS_TRANSLATED(op1)   WAY_REDIRECT, WAY_REDIRECT
#else
#define WAYS_REDIRECT(op1)     WAY_CALL, WAY_CALL
#define WAYS_REDIRECT_VHE(op1) WAY_CALL, WAY_CALL
#define WAYS_TRANSLATED(op1)   WAY_CALL, WAY_CALL
#endif
#endif

#if PARAVIRT == PARAVIRT_none
#define READ_BY(nest, name, op0, op1, n, m, op2, page) \
	READ_REGISTER(BY_NAME(op0, OP1_##nest(op1), n, m, op2))
#define WRITE_BY(nest, name, op0, op1, n, m, op2, page, value) \
	WRITE_REGISTER(BY_NAME(op0, OP1_##nest(op1), n, m, op2), value)
#else
#define WAYS_DIRECT(op1) WAY_INSTRUCTION, WAY_INSTRUCTION
#define WAYS_TRAP(op1)	 WAY_CALL, WAY_CALL
#define WAYS_TIMER(op1)	 (enum way)(TIMER_CALLS_##op1), (enum way)(TIMER_CALLS_##op1)

#define FIRST_(a, b)  a
#define FIRST(pair)   FIRST_(pair)
#define SECOND_(a, b) b
#define SECOND(pair)  SECOND_(pair)

/* The choice is a constant: the compiler keeps one of the four. */
#define READ_BY(nest, name, op0, op1, n, m, op2, page)                                         \
	(FIRST(WAYS_##nest(op1)) == WAY_CALL	   ? CALL_READ(REG_##name)                     \
	 : FIRST(WAYS_##nest(op1)) == WAY_PAGE	   ? DEFERRED(name)                            \
	 : FIRST(WAYS_##nest(op1)) == WAY_REDIRECT ? READ_REGISTER(BY_NAME(op0, 0, n, m, op2)) \
						   : READ_REGISTER(BY_NAME(op0, op1, n, m, op2)))
#define WRITE_BY(nest, name, op0, op1, n, m, op2, page, value)               \
	do {                                                                 \
		if (SECOND(WAYS_##nest(op1)) == WAY_CALL)                    \
			CALL_WRITE_(REG_##name, value);                      \
		else if (SECOND(WAYS_##nest(op1)) == WAY_PAGE)               \
			DEFERRED(name) = (value);                            \
		else if (SECOND(WAYS_##nest(op1)) == WAY_REDIRECT)           \
			WRITE_REGISTER(BY_NAME(op0, 0, n, m, op2), value);   \
		else                                                         \
			WRITE_REGISTER(BY_NAME(op0, op1, n, m, op2), value); \
	} while (0)
#endif

#define ROW(name, op0, op1, n, m, op2, class, mask, nest, page)         \
	static inline uint64_t read_##name(void)                        \
	{                                                               \
		return READ_BY(nest, name, op0, op1, n, m, op2, page);  \
	}                                                               \
	static inline void write_##name(uint64_t value)                 \
	{                                                               \
		WRITE_BY(nest, name, op0, op1, n, m, op2, page, value); \
	}
REGISTERS(ROW)
#undef ROW

/* ---- TLB maintenance: op1, CRm, op2 --------------------------------------------------------- */

#define TLBI_VMALLE1IS	  0, 3, 0
#define TLBI_VMALLS12E1IS 4, 3, 6
#define TLBI_ALLE1	  4, 7, 4
#define TLBI_ALLE2	  4, 7, 0

#define TLBI_ENCODED(op1, m, op2) \
	__asm__ volatile("sys #" #op1 ", c8, c" #m ", #" #op2 : : : "memory")
#define TLBI_CALLED(op1, m, op2) CALL_WRITE_(CALL_TLBI + ((op1) / 4 << 6 | (m) << 3 | (op2)), 0)
#define EXPAND(macro, ...)	 macro(__VA_ARGS__)
#if PARAVIRT == PARAVIRT_none
#define TLBI(operation) EXPAND(TLBI_ENCODED, operation)
#else
#define TLBI(operation) EXPAND(TLBI_CALLED, operation)
#endif

#endif
