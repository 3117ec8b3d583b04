/* AArch64 registers by name (Arm Architecture Reference Manual, DDI 0487, chapter D24). Only for
 * arch/aarch64. */
#ifndef CPU_H
#define CPU_H

/* ---- Also for assembly -------------------------------------------------------------------- */

/* The guest's exception level, and the names of its registers. */
#define LEVEL_EL1     0
#define LEVEL_EL2     1 /* without E2H: names end in _EL2 */
#define LEVEL_EL2_VHE 2 /* with E2H and TGE: names end in _EL1 */

#define CURRENT_EL1 (1 << 2)
#define CURRENT_EL2 (2 << 2)

#define HCR_FMO (1 << 3)
#define HCR_IMO (1 << 4)
#define HCR_AMO (1 << 5)
#define HCR_TGE (1 << 27)
#define HCR_RW	(1 << 31)
#define HCR_E2H (1 << 34)

#define ID_MMFR1_VH_SHIFT 8 /* four bits */

/* Offsets in struct cpu (core/smp.h). */
#define CPU_READY     0
#define CPU_SPIN      8
#define CPU_STACK_END 16

/* The software-generated interrupt of on_cpu(). */
#define SGI_IPI		1
/* ... and of the row irq-completion. */
#define SGI_COMPLETION	2
#define INTID_TIMER	27 /* private: the virtual timer, */
#define INTID_TIMER_EL2 28 /* ... and EL2's with E2H */
#define INTID_XEN	31 /* private: Xen's event interrupt (arch-arm.h, GUEST_EVTCHN_PPI) */
#define INTID_LATENCY	40 /* shared; of the I/O latency rows */
#define INTID_LPI \
	8232 /* an LPI; its lower ten bits are INTID_LATENCY, so that one handler serves both */
#define INTID_SPECIAL 1020 /* from here on: spurious (GICv3, 2.2.1) */

#include "common/arm64_registers.h"

/* By encoding: older assemblers lack the names (GICv3 and v4, 12.2). */
#define ICC_SRE_EL1   s3_0_c12_c12_5
#define ICC_SGI1R_EL1 s3_0_c12_c11_5
#define ICC_RPR_EL1   s3_0_c12_c11_3
#define ICC_SRE_EL2   s3_4_c12_c9_5

#ifndef __ASSEMBLER__

#include <stdint.h>

/* LEVEL_...; set by boot.S. */
extern uint64_t cpu_level;

/* A register that exists for EL1 and EL2: the current level's. */
#define READ_OWN(name) \
	(cpu_level == LEVEL_EL2 ? READ_REGISTER(name##_el2) : READ_REGISTER(name##_el1))
#define WRITE_OWN(name, value)                             \
	do {                                               \
		if (cpu_level == LEVEL_EL2)                \
			WRITE_REGISTER(name##_el2, value); \
		else                                       \
			WRITE_REGISTER(name##_el1, value); \
	} while (0)

static inline void instruction_barrier(void)
{
	__asm__ volatile("isb" : : : "memory");
}

/* Waits until all earlier memory accesses are complete for every observer. */
static inline void data_barrier(void)
{
	__asm__ volatile("dsb sy" : : : "memory");
}

/* Writes the cache lines of [from, from + bytes) back to memory, for a CPU with its MMU off. */
void clean_to_memory(const void *from, uint64_t bytes);

struct cpu;
static inline struct cpu *cpu_self(void)
{
	struct cpu *self;

	__asm__("mov %0, x18" : "=r"(self));
	return self;
}

#endif
#endif
