/* Access to CPU registers by name; their bits are in bits.h. Not for core/, which does not depend on the
 * architecture. */
#ifndef CPU_H
#define CPU_H

/* ---- Also for assembly --------------------------------------------------------------------- */

#define CURRENT_EL2 (2 << 2)

/* Offsets in struct context (vm/state.h). */
#define CONTEXT_X 0

/* The kind of exit, returned by context_enter(). */
#define LEFT_SYNCHRONOUS 0
#define LEFT_IRQ	 1
#define LEFT_FIQ	 2
#define LEFT_SERROR	 3

#define STACK_BYTES 32768

#ifndef __ASSEMBLER__

#include <stdint.h>

#include "common/arm64_registers.h"
#include "cpu/bits.h"

/* By encoding: older assemblers lack the names. */
#define ICC_DIR_EL1 s3_0_c12_c11_1
#define VSESR_EL2   s3_4_c5_c2_3
#define HCRX_EL2    s3_4_c1_c2_2
#define HFGRTR_EL2  s3_4_c1_c1_4
#define HFGWTR_EL2  s3_4_c1_c1_5
#define HFGITR_EL2  s3_4_c1_c1_6
#define HDFGRTR_EL2 s3_4_c3_c1_4
#define HDFGWTR_EL2 s3_4_c3_c1_5

/* ---- What depends on HCR_EL2.E2H, as this build sets it --------------------------------------- */

/* For a VM: floating point does not trap; SVE, SME and trace do. */
#if VHE
#define CPTR_GUEST    (CPACR_FPEN | CPACR_TTA)
#define CNTHCTL_SHIFT CNTHCTL_E2H_SHIFT
#else
#define CPTR_GUEST    (CPTR_RES1 | CPTR_TZ | CPTR_TSM | CPTR_TTA)
#define CNTHCTL_SHIFT 0
#endif
/* For a VM: the physical counter and timer of EL1 do not trap. */
#define CNTHCTL_GUEST (CNTHCTL_BOTH << CNTHCTL_SHIFT)

static inline void instruction_barrier(void)
{
	__asm__ volatile("isb" : : : "memory");
}

static inline void data_barrier(void)
{
	__asm__ volatile("dsb sy" : : : "memory");
}

#endif
#endif
