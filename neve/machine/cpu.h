/* Registers of EL2 by name, and the bits that we use (DDI 0487, D19; GICv3: IHI 0069, 12). Not for
 * core/, which knows no register. */
#ifndef CPU_H
#define CPU_H

/* ---- Also for assembly --------------------------------------------------------------------- */

#define CURRENT_EL2 (2 << 2)

/* Offsets in struct context (vm/state.h). */
#define CONTEXT_X 0

/* How a guest was left; what context_enter() returns. */
#define LEFT_SYNCHRONOUS 0
#define LEFT_IRQ	 1
#define LEFT_FIQ	 2
#define LEFT_SERROR	 3

#define STACK_BYTES 32768

#ifndef __ASSEMBLER__

#include <stdint.h>

#define TEXT_OF(name)	#name
#define NAME_TEXT(name) TEXT_OF(name)

#define READ_REGISTER(name)                                                               \
	({                                                                                \
		uint64_t value_;                                                          \
		__asm__ volatile("mrs %0, " NAME_TEXT(name) : "=r"(value_) : : "memory"); \
		value_;                                                                   \
	})
#define WRITE_REGISTER(name, value) \
	__asm__ volatile("msr " NAME_TEXT(name) ", %0" : : "r"((uint64_t)(value)) : "memory")

/* By encoding: older assemblers lack the names. */
#define ICC_PMR_EL1	s3_0_c4_c6_0
#define ICC_IAR1_EL1	s3_0_c12_c12_0
#define ICC_EOIR1_EL1	s3_0_c12_c12_1
#define ICC_DIR_EL1	s3_0_c12_c11_1
#define ICC_CTLR_EL1	s3_0_c12_c12_4
#define ICC_IGRPEN1_EL1 s3_0_c12_c12_7
#define VSESR_EL2	s3_4_c5_c2_3
#define HCRX_EL2	s3_4_c1_c2_2
#define HFGRTR_EL2	s3_4_c1_c1_4
#define HFGWTR_EL2	s3_4_c1_c1_5
#define HFGITR_EL2	s3_4_c1_c1_6
#define HDFGRTR_EL2	s3_4_c3_c1_4
#define HDFGWTR_EL2	s3_4_c3_c1_5

/* HCR_EL2: what a VM runs under. */
#define HCR_VM	  (1ull << 0) /* stage 2 */
#define HCR_SWIO  (1ull << 1) /* invalidation by set and way cleans too */
#define HCR_FMO	  (1ull << 3)
#define HCR_IMO	  (1ull << 4)
#define HCR_AMO	  (1ull << 5)
#define HCR_VF	  (1ull << 6) /* a virtual interrupt of each kind is pending */
#define HCR_VI	  (1ull << 7)
#define HCR_VSE	  (1ull << 8)
#define HCR_TID3  (1ull << 18) /* identification registers trap */
#define HCR_TSC	  (1ull << 19) /* SMC traps */
#define HCR_TIDCP (1ull << 20) /* implementation defined registers trap */
#define HCR_TACR  (1ull << 21) /* ACTLR_EL1 traps */
#define HCR_TTLB  (1ull << 25) /* EL1's TLB maintenance traps */
#define HCR_TVM	  (1ull << 26) /* writes of EL1's translation registers trap */
#define HCR_TGE	  (1ull << 27)
#define HCR_TRVM  (1ull << 30) /* ... and reads */
#define HCR_RW	  (1ull << 31) /* EL1 is AArch64 */
#define HCR_E2H	  (1ull << 34) /* EL2 as a host kernel wants it (FEAT_VHE) */
#define HCR_TLOR  (1ull << 35)
#define HCR_TERR  (1ull << 36)
#define HCR_APK	  (1ull << 40) /* pointer authentication does not trap */
#define HCR_API	  (1ull << 41)
#define HCR_NV \
	(1ull << 42) /* EL1 believes that it is EL2: hypervisor instructions trap (FEAT_NV) */
#define HCR_NV1 (1ull << 43) /* ... one without HCR_EL2.E2H */
#define HCR_AT	(1ull << 44) /* AT of stage 1 traps */
#define HCR_NV2 (1ull << 45) /* ... or go to the page of VNCR_EL2 (FEAT_NV2) */

#define CPTR_TCPAC (1ull << 31) /* CPACR_EL1 traps */
/* CPTR_EL2 and CNTHCTL_EL2 as HCR_EL2.E2H has them. */

#if VHE
#define CPTR_GUEST \
	(3ull << 20 | 1ull << 28) /* floating point does not trap; SVE, SME and trace do */
#define CNTHCTL_EL1PCTEN (1ull << 10)
#define CNTHCTL_EL1PCEN	 (1ull << 11)
#else
#define CPTR_GUEST	 (0x22ffull | 1ull << 8 | 1ull << 12 | 1ull << 20)
#define CNTHCTL_EL1PCTEN (1ull << 0)
#define CNTHCTL_EL1PCEN	 (1ull << 1)
#endif

#define MDCR_HPMN  0x1full
#define MDCR_TPMCR (1ull << 5)
#define MDCR_TPM   (1ull << 6)
#define MDCR_TDA   (1ull << 9) /* debug registers trap */
#define MDCR_TPMS  (1ull << 14)
#define MDCR_TTRF  (1ull << 19)

/* ESR_EL2 */
#define ESR_CLASS_SHIFT	  26
#define ESR_LENGTH_32	  (1ull << 25) /* IL */
#define ISS_READ	  1	       /* of EC_SYSREG */
#define ISS_RT		  5	       /* ... five bits */
#define XZR		  31
#define EC_UNKNOWN	  0x00
#define EC_WFX		  0x01
#define EC_FP		  0x07
#define EC_HVC		  0x16
#define EC_SMC		  0x17
#define EC_SYSREG	  0x18
#define EC_ERET		  0x1a
#define EC_INSN_ABORT	  0x20 /* from a lower level */
#define EC_DATA_ABORT	  0x24
#define EC_OWN_ABORT	  0x25 /* from EL2 itself; from below, of the page of VNCR_EL2 */
#define ABORT_STATUS	  0x3f
#define ABORT_IS_WRITE	  (1u << 6)
#define ABORT_STAGE1_WALK (1u << 7) /* S1PTW */

#define PSTATE_EL1H    0x5ull
#define PSTATE_MODE    0xfull
#define PSTATE_AARCH32 (1ull << 4)
#define PSTATE_MASKED  (0xfull << 6) /* D, A, I, F */

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
