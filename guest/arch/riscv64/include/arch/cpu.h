/* RISC-V registers by name (The RISC-V Instruction Set Manual, Volume II: Privileged Architecture). Only for
 * arch/riscv64. */
#ifndef CPU_H
#define CPU_H

#include "common/sbi_call.h"

/* ---- Also for assembly -------------------------------------------------------------------- */

#define SSTATUS_SIE (1 << 1)
#define SSTATUS_SUM (1 << 18)

/* Causes of interrupts; sie and sip have a bit for each. */
#define CAUSE_SOFTWARE 1
#define CAUSE_TIMER    5
#define CAUSE_EXTERNAL 9
#define SIE_SOFTWARE   (1 << CAUSE_SOFTWARE)
#define SIE_TIMER      (1 << CAUSE_TIMER)
#define SIE_EXTERNAL   (1 << CAUSE_EXTERNAL)

#define SATP_SV39	8
#define SATP_SV48	9
#define SATP_MODE_SHIFT 60

/* By number: older assemblers lack the names. */
#define CSR_STIMECMP 0x14d /* Sstc */
#define CSR_SISELECT 0x150 /* AIA: Smaia and Ssaia */
#define CSR_SIREG    0x151
#define CSR_STOPEI   0x15c

/* Offsets in struct cpu (core/smp.h). */
#define CPU_READY     0
#define CPU_SPIN      8
#define CPU_STACK_END 16

/* The identity of the I/O latency rows' interrupt at the CPU's IMSIC. */
#define IMSIC_LATENCY 8

/* SBI's extensions (RISC-V Supervisor Binary Interface Specification 2.0), and their functions. */
#define SBI_BASE		0x10
#define SBI_BASE_SPEC_VERSION	0
#define SBI_BASE_IMPL_ID	1
#define SBI_BASE_VENDOR		4
#define SBI_BASE_ARCH		5
#define SBI_BASE_IMPLEMENTATION 6
#define SBI_TIMER		0x54494d45
#define SBI_TIMER_SET		0
#define SBI_IPI			0x735049
#define SBI_IPI_SEND		0
#define SBI_RFENCE		0x52464e43
#define SBI_RFENCE_SFENCE	1
#define SBI_HSM			0x48534d
#define SBI_HSM_START		0
#define SBI_RESET		0x53525354
#define SBI_RESET_SYSTEM	0
#define SBI_LEGACY_SHUTDOWN	8

/* The hint PAUSE (Zihintpause), by encoding. */
#define PAUSE_CODE 0x0100000f
#define WFI_CODE   0x10500073

#ifndef __ASSEMBLER__

#include <stdint.h>

#define CSR_TEXT(name) #name
#define CSR_NAME(name) CSR_TEXT(name)
#define READ_CSR(name)                                                                    \
	({                                                                                \
		uint64_t value_;                                                          \
		__asm__ volatile("csrr %0, " CSR_NAME(name) : "=r"(value_) : : "memory"); \
		value_;                                                                   \
	})
#define WRITE_CSR(name, value) \
	__asm__ volatile("csrw " CSR_NAME(name) ", %0" : : "r"((uint64_t)(value)) : "memory")
#define SET_CSR(name, bits) \
	__asm__ volatile("csrs " CSR_NAME(name) ", %0" : : "r"((uint64_t)(bits)) : "memory")
#define CLEAR_CSR(name, bits) \
	__asm__ volatile("csrc " CSR_NAME(name) ", %0" : : "r"((uint64_t)(bits)) : "memory")

/* Waits until all earlier memory accesses are complete for every observer. */
static inline void data_barrier(void)
{
	__asm__ volatile("fence iorw, iorw" : : : "memory");
}

/* What an SBI call returns: an error, negative, or 0 and a value. */
struct sbi_result {
	int64_t error;
	uint64_t value;
};
struct sbi_result sbi_call(uint64_t extension, uint64_t function, uint64_t a, uint64_t b,
			   uint64_t c);

struct cpu;
static inline struct cpu *cpu_self(void)
{
	struct cpu *self;

	__asm__("mv %0, tp" : "=r"(self));
	return self;
}

#endif
#endif
