/*
 * System registers as a table. A row has a register's name, its encoding, how it is handled in a VM (class,
 * mask), and how for a guest hypervisor at virtual EL2 (nest, page). Accessors, trap emulation, reset,
 * paravirtual calls and the names of trap counts are generated from these rows. (DDI 0487, D19;
 * encodings are op0, op1, CRn, CRm, op2.)
 *
 * Classes, in a VM:
 *   IDENTITY    trapped by HCR_EL2.TID3: reads return the CPU's value, masked
 *   ZERO        trapped: reads as zero, ignores writes
 *   SGI         trapped by HCR_EL2.IMO and FMO: a write sends virtual interrupts; the mask is the group
 *   CONTEXT     the VM's own, in the hardware; the mask is its reset value
 *   HYPERVISOR  undefined; for a guest hypervisor the mask has the bits that apply to its VM
 * An identification register without a row reads as zero; any other register that traps is undefined.
 *
 * Nest, by Lim et al., NEVE (SOSP 2017), Tables 3 to 5:
 *   DIRECT        the same at virtual EL2 and EL1, in the hardware
 *   CONTROL       Table 3, VM trap control and thread ID: affects only the nested VM; in the deferred page
 *   VM            Table 3, VM execution control: the nested VM's EL1; in the hardware while it runs
 *   REDIRECT      Table 4: at virtual EL2 the hardware's EL1 register of the same name holds it
 *   REDIRECT_VHE  Table 4: the same, for a VHE hypervisor
 *   CACHED        Table 4, trap on write: reads return a copy
 *   TRANSLATED    Table 4, redirect or trap: another format at EL1 unless the hypervisor is a VHE one
 *   GIC           Table 5, trap on write
 *   TIMER, PMU, DEBUG, AUXILIARY   section 6.1, last paragraph; ACTLR_EL1
 *   TRAP          always traps
 * Page is the register's offset in the page of VNCR_EL2 with FEAT_NV2 (DDI 0487, D8.11.5), or 0 if an
 * access traps.
 */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/bits.h"

/* The four-bit field of an identification register that begins at this bit. */
#define FIELD(bit) (0xfull << (bit))
#define ALL_FIELDS (~0ull)

/*
 * Hidden from VMs, because it is not virtualized here, or only with traps that would be counted: EL2, EL3,
 * AArch32, SVE, SME, RAS, AMU, MPAM, MTE, SCXTNUM, performance monitors, statistical profiling, trace,
 * LORegions, nested virtualization, fine-grained traps, MOPS, LS64.
 */
#define KEEP_PFR0                                                                   \
	(FIELD(PFR0_FP) | FIELD(PFR0_ADVSIMD) | FIELD(PFR0_GIC) | FIELD(PFR0_DIT) | \
	 FIELD(PFR0_CSV2) | FIELD(PFR0_CSV3))
#define KEEP_PFR1 (FIELD(PFR1_BT) | FIELD(PFR1_SSBS))
#define KEEP_DFR0 \
	(FIELD(DFR0_DEBUGVER) | FIELD(DFR0_BRPS) | FIELD(DFR0_WRPS) | FIELD(DFR0_CTX_CMPS))
#define KEEP_ISAR1 (~FIELD(ISAR1_LS64))
#define KEEP_ISAR2                                                                        \
	(FIELD(ISAR2_WFXT) | FIELD(ISAR2_RPRES) | FIELD(ISAR2_GPA3) | FIELD(ISAR2_APA3) | \
	 FIELD(ISAR2_BC) | FIELD(ISAR2_PAC_FRAC) | FIELD(ISAR2_CLRBHB))
#define KEEP_MMFR0                                                             \
	(FIELD(MMFR0_PARANGE) | FIELD(MMFR0_ASIDBITS) | FIELD(MMFR0_BIGEND) |  \
	 FIELD(MMFR0_SNSMEM) | FIELD(MMFR0_BIGENDEL0) | FIELD(MMFR0_TGRAN16) | \
	 FIELD(MMFR0_TGRAN64) | FIELD(MMFR0_TGRAN4) | FIELD(MMFR0_EXS))
#define KEEP_MMFR1                                                                           \
	(FIELD(MMFR1_HAFDBS) | FIELD(MMFR1_HPDS) | FIELD(MMFR1_PAN) | FIELD(MMFR1_SPECSEI) | \
	 FIELD(MMFR1_ETS) | FIELD(MMFR1_AFP))
#define KEEP_MMFR2                                                                       \
	(FIELD(MMFR2_CNP) | FIELD(MMFR2_UAO) | FIELD(MMFR2_LSM) | FIELD(MMFR2_IESB) |    \
	 FIELD(MMFR2_VARANGE) | FIELD(MMFR2_CCIDX) | FIELD(MMFR2_ST) | FIELD(MMFR2_AT) | \
	 FIELD(MMFR2_IDS) | FIELD(MMFR2_TTL) | FIELD(MMFR2_BBM) | FIELD(MMFR2_E0PD))

#define ALL_BITS (~0ull)

/* Bits of HCR_EL2 that a guest hypervisor may set for its VM. VM, FMO, IMO, AMO, VF, VI, VSE, E2H, TGE
 * and the nested ones are handled one by one; EL1 is always AArch64. */
#define HCR_HEEDED                                                                             \
	(HCR_PTW | HCR_FB | HCR_BSU | HCR_TWI | HCR_TWE | HCR_TID0 | HCR_TID1 | HCR_TID2 |     \
	 HCR_TID3 | HCR_TSC | HCR_TIDCP | HCR_TACR | HCR_TSW | HCR_TPCP | HCR_TPU | HCR_TTLB | \
	 HCR_TVM | HCR_TDZ | HCR_TRVM | HCR_APK | HCR_API)

/* ROW(name, op0, op1, CRn, CRm, op2, class, mask, nest, page) */
#define REGISTERS(ROW)                                                        \
	/* Identification. */                                                 \
	ROW(ID_AA64PFR0_EL1, 3, 0, 0, 4, 0, IDENTITY, KEEP_PFR0, DIRECT, 0)   \
	ROW(ID_AA64PFR1_EL1, 3, 0, 0, 4, 1, IDENTITY, KEEP_PFR1, DIRECT, 0)   \
	ROW(ID_AA64DFR0_EL1, 3, 0, 0, 5, 0, IDENTITY, KEEP_DFR0, DIRECT, 0)   \
	ROW(ID_AA64ISAR0_EL1, 3, 0, 0, 6, 0, IDENTITY, ALL_FIELDS, DIRECT, 0) \
	ROW(ID_AA64ISAR1_EL1, 3, 0, 0, 6, 1, IDENTITY, KEEP_ISAR1, DIRECT, 0) \
	ROW(ID_AA64ISAR2_EL1, 3, 0, 0, 6, 2, IDENTITY, KEEP_ISAR2, DIRECT, 0) \
	ROW(ID_AA64MMFR0_EL1, 3, 0, 0, 7, 0, IDENTITY, KEEP_MMFR0, DIRECT, 0) \
	ROW(ID_AA64MMFR1_EL1, 3, 0, 0, 7, 1, IDENTITY, KEEP_MMFR1, DIRECT, 0) \
	ROW(ID_AA64MMFR2_EL1, 3, 0, 0, 7, 2, IDENTITY, KEEP_MMFR2, DIRECT, 0) \
	/* EL1, trapped in every VM. */                                       \
	ROW(ACTLR_EL1, 3, 0, 1, 0, 1, ZERO, 0, AUXILIARY, 0x118)              \
	ROW(ICC_SGI1R_EL1, 3, 0, 12, 11, 5, SGI, 1, DIRECT, 0)                \
	ROW(ICC_ASGI1R_EL1, 3, 0, 12, 11, 6, SGI, 0, DIRECT, 0)               \
	ROW(ICC_SGI0R_EL1, 3, 0, 12, 11, 7, SGI, 0, DIRECT, 0)                \
	/* EL1 and EL0, the VM's own. */                                      \
	ROW(SCTLR_EL1, 3, 0, 1, 0, 0, CONTEXT, SCTLR_EL1_RES1, VM, 0x110)     \
	ROW(CPACR_EL1, 3, 0, 1, 0, 2, CONTEXT, 0, VM, 0x100)                  \
	ROW(TTBR0_EL1, 3, 0, 2, 0, 0, CONTEXT, 0, VM, 0x200)                  \
	ROW(TTBR1_EL1, 3, 0, 2, 0, 1, CONTEXT, 0, VM, 0x210)                  \
	ROW(TCR_EL1, 3, 0, 2, 0, 2, CONTEXT, 0, VM, 0x120)                    \
	ROW(SPSR_EL1, 3, 0, 4, 0, 0, CONTEXT, 0, VM, 0x160)                   \
	ROW(ELR_EL1, 3, 0, 4, 0, 1, CONTEXT, 0, VM, 0x230)                    \
	ROW(SP_EL0, 3, 0, 4, 1, 0, CONTEXT, 0, DIRECT, 0)                     \
	ROW(SP_EL1, 3, 4, 4, 1, 0, CONTEXT, 0, VM, 0x240)                     \
	ROW(AFSR0_EL1, 3, 0, 5, 1, 0, CONTEXT, 0, VM, 0x128)                  \
	ROW(AFSR1_EL1, 3, 0, 5, 1, 1, CONTEXT, 0, VM, 0x130)                  \
	ROW(ESR_EL1, 3, 0, 5, 2, 0, CONTEXT, 0, VM, 0x138)                    \
	ROW(FAR_EL1, 3, 0, 6, 0, 0, CONTEXT, 0, VM, 0x220)                    \
	ROW(PAR_EL1, 3, 0, 7, 4, 0, CONTEXT, 0, DIRECT, 0)                    \
	ROW(MAIR_EL1, 3, 0, 10, 2, 0, CONTEXT, 0, VM, 0x140)                  \
	ROW(AMAIR_EL1, 3, 0, 10, 3, 0, CONTEXT, 0, VM, 0x148)                 \
	ROW(VBAR_EL1, 3, 0, 12, 0, 0, CONTEXT, 0, VM, 0x250)                  \
	ROW(CONTEXTIDR_EL1, 3, 0, 13, 0, 1, CONTEXT, 0, VM, 0x108)            \
	ROW(TPIDR_EL1, 3, 0, 13, 0, 4, CONTEXT, 0, DIRECT, 0)                 \
	ROW(TPIDR_EL0, 3, 3, 13, 0, 2, CONTEXT, 0, DIRECT, 0)                 \
	ROW(TPIDRRO_EL0, 3, 3, 13, 0, 3, CONTEXT, 0, DIRECT, 0)               \
	ROW(CSSELR_EL1, 3, 2, 0, 0, 0, CONTEXT, 0, DIRECT, 0)                 \
	ROW(CNTKCTL_EL1, 3, 0, 14, 1, 0, CONTEXT, 0, TIMER, 0)                \
	ROW(MDSCR_EL1, 2, 0, 0, 2, 2, CONTEXT, 0, DEBUG, 0x158)               \
	ROW(CNTP_CTL_EL0, 3, 3, 14, 2, 1, CONTEXT, 0, TIMER, 0x180)           \
	ROW(CNTV_CTL_EL0, 3, 3, 14, 3, 1, CONTEXT, 0, TIMER, 0x170)           \
	/* Table 3: EL2, for its VM. */                                       \
	ROW(HACR_EL2, 3, 4, 1, 1, 7, HYPERVISOR, 0, CONTROL, 0)               \
	ROW(HCR_EL2, 3, 4, 1, 1, 0, HYPERVISOR, HCR_HEEDED, CONTROL, 0x078)   \
	ROW(HPFAR_EL2, 3, 4, 6, 0, 4, HYPERVISOR, 0, CONTROL, 0)              \
	ROW(HSTR_EL2, 3, 4, 1, 1, 3, HYPERVISOR, 0, CONTROL, 0x080)           \
	ROW(TPIDR_EL2, 3, 4, 13, 0, 2, HYPERVISOR, 0, CONTROL, 0x090)         \
	ROW(VMPIDR_EL2, 3, 4, 0, 0, 5, HYPERVISOR, ALL_BITS, CONTROL, 0x050)  \
	ROW(VNCR_EL2, 3, 4, 2, 2, 0, HYPERVISOR, VNCR_BADDR, CONTROL, 0x0b0)  \
	ROW(VPIDR_EL2, 3, 4, 0, 0, 0, HYPERVISOR, 0xffffffff, CONTROL, 0x088) \
	ROW(VTCR_EL2, 3, 4, 2, 1, 2, HYPERVISOR, 0xffffffff, CONTROL, 0x040)  \
	ROW(VTTBR_EL2, 3, 4, 2, 1, 0, HYPERVISOR, ALL_BITS, CONTROL, 0x020)   \
	/* Table 4: EL2, for itself. */                                       \
	ROW(AFSR0_EL2, 3, 4, 5, 1, 0, HYPERVISOR, 0, REDIRECT, 0)             \
	ROW(AFSR1_EL2, 3, 4, 5, 1, 1, HYPERVISOR, 0, REDIRECT, 0)             \
	ROW(AMAIR_EL2, 3, 4, 10, 3, 0, HYPERVISOR, 0, REDIRECT, 0)            \
	ROW(ELR_EL2, 3, 4, 4, 0, 1, HYPERVISOR, 0, REDIRECT, 0)               \
	ROW(ESR_EL2, 3, 4, 5, 2, 0, HYPERVISOR, 0, REDIRECT, 0)               \
	ROW(FAR_EL2, 3, 4, 6, 0, 0, HYPERVISOR, 0, REDIRECT, 0)               \
	ROW(SPSR_EL2, 3, 4, 4, 0, 0, HYPERVISOR, 0, REDIRECT, 0)              \
	ROW(MAIR_EL2, 3, 4, 10, 2, 0, HYPERVISOR, 0, REDIRECT, 0)             \
	ROW(SCTLR_EL2, 3, 4, 1, 0, 0, HYPERVISOR, 0, REDIRECT, 0)             \
	ROW(VBAR_EL2, 3, 4, 12, 0, 0, HYPERVISOR, 0, REDIRECT, 0)             \
	ROW(CONTEXTIDR_EL2, 3, 4, 13, 0, 1, HYPERVISOR, 0, REDIRECT_VHE, 0)   \
	ROW(TTBR1_EL2, 3, 4, 2, 0, 1, HYPERVISOR, 0, REDIRECT_VHE, 0)         \
	/* Table 4, trap on write. */                                         \
	ROW(CNTHCTL_EL2, 3, 4, 14, 1, 0, HYPERVISOR, 0, CACHED, 0)            \
	ROW(CNTVOFF_EL2, 3, 4, 14, 0, 3, HYPERVISOR, 0, CACHED, 0x060)        \
	ROW(CPTR_EL2, 3, 4, 1, 1, 2, HYPERVISOR, 0, CACHED, 0)                \
	ROW(MDCR_EL2, 3, 4, 1, 1, 1, HYPERVISOR, 0, CACHED, 0)                \
	/* Table 4, another format at EL1. */                                 \
	ROW(TCR_EL2, 3, 4, 2, 0, 2, HYPERVISOR, 0, TRANSLATED, 0)             \
	ROW(TTBR0_EL2, 3, 4, 2, 0, 0, HYPERVISOR, 0, TRANSLATED, 0)           \
	/* Table 5: the hypervisor control interface of the GIC. */           \
	ROW(ICH_HCR_EL2, 3, 4, 12, 11, 0, HYPERVISOR, 0, GIC, 0x4c0)          \
	ROW(ICH_VTR_EL2, 3, 4, 12, 11, 1, HYPERVISOR, 0, GIC, 0)              \
	ROW(ICH_VMCR_EL2, 3, 4, 12, 11, 7, HYPERVISOR, 0, GIC, 0x4c8)         \
	ROW(ICH_MISR_EL2, 3, 4, 12, 11, 2, HYPERVISOR, 0, GIC, 0)             \
	ROW(ICH_EISR_EL2, 3, 4, 12, 11, 3, HYPERVISOR, 0, GIC, 0)             \
	ROW(ICH_ELRSR_EL2, 3, 4, 12, 11, 5, HYPERVISOR, 0, GIC, 0)            \
	ROW(ICH_AP0R0_EL2, 3, 4, 12, 8, 0, HYPERVISOR, 0, GIC, 0x480)         \
	ROW(ICH_AP0R1_EL2, 3, 4, 12, 8, 1, HYPERVISOR, 0, GIC, 0x488)         \
	ROW(ICH_AP0R2_EL2, 3, 4, 12, 8, 2, HYPERVISOR, 0, GIC, 0x490)         \
	ROW(ICH_AP0R3_EL2, 3, 4, 12, 8, 3, HYPERVISOR, 0, GIC, 0x498)         \
	ROW(ICH_AP1R0_EL2, 3, 4, 12, 9, 0, HYPERVISOR, 0, GIC, 0x4a0)         \
	ROW(ICH_AP1R1_EL2, 3, 4, 12, 9, 1, HYPERVISOR, 0, GIC, 0x4a8)         \
	ROW(ICH_AP1R2_EL2, 3, 4, 12, 9, 2, HYPERVISOR, 0, GIC, 0x4b0)         \
	ROW(ICH_AP1R3_EL2, 3, 4, 12, 9, 3, HYPERVISOR, 0, GIC, 0x4b8)         \
	ROW(ICH_LR0_EL2, 3, 4, 12, 12, 0, HYPERVISOR, 0, GIC, 0x400)          \
	ROW(ICH_LR1_EL2, 3, 4, 12, 12, 1, HYPERVISOR, 0, GIC, 0x408)          \
	ROW(ICH_LR2_EL2, 3, 4, 12, 12, 2, HYPERVISOR, 0, GIC, 0x410)          \
	ROW(ICH_LR3_EL2, 3, 4, 12, 12, 3, HYPERVISOR, 0, GIC, 0x418)          \
	ROW(ICH_LR4_EL2, 3, 4, 12, 12, 4, HYPERVISOR, 0, GIC, 0x420)          \
	ROW(ICH_LR5_EL2, 3, 4, 12, 12, 5, HYPERVISOR, 0, GIC, 0x428)          \
	ROW(ICH_LR6_EL2, 3, 4, 12, 12, 6, HYPERVISOR, 0, GIC, 0x430)          \
	ROW(ICH_LR7_EL2, 3, 4, 12, 12, 7, HYPERVISOR, 0, GIC, 0x438)          \
	ROW(ICH_LR8_EL2, 3, 4, 12, 13, 0, HYPERVISOR, 0, GIC, 0x440)          \
	ROW(ICH_LR9_EL2, 3, 4, 12, 13, 1, HYPERVISOR, 0, GIC, 0x448)          \
	ROW(ICH_LR10_EL2, 3, 4, 12, 13, 2, HYPERVISOR, 0, GIC, 0x450)         \
	ROW(ICH_LR11_EL2, 3, 4, 12, 13, 3, HYPERVISOR, 0, GIC, 0x458)         \
	ROW(ICH_LR12_EL2, 3, 4, 12, 13, 4, HYPERVISOR, 0, GIC, 0x460)         \
	ROW(ICH_LR13_EL2, 3, 4, 12, 13, 5, HYPERVISOR, 0, GIC, 0x468)         \
	ROW(ICH_LR14_EL2, 3, 4, 12, 13, 6, HYPERVISOR, 0, GIC, 0x470)         \
	ROW(ICH_LR15_EL2, 3, 4, 12, 13, 7, HYPERVISOR, 0, GIC, 0x478)         \
	/* Always trapping, and section 6.1. */                               \
	ROW(ICC_SRE_EL2, 3, 4, 12, 9, 5, HYPERVISOR, 0, TRAP, 0)              \
	ROW(ACTLR_EL2, 3, 4, 1, 0, 1, HYPERVISOR, 0, TRAP, 0)                 \
	ROW(PMUSERENR_EL0, 3, 3, 9, 14, 0, HYPERVISOR, 0, PMU, 0)             \
	ROW(PMSELR_EL0, 3, 3, 9, 12, 5, HYPERVISOR, 0, PMU, 0)                \
	/* Timers. */                                                         \
	ROW(CNTHP_TVAL_EL2, 3, 4, 14, 2, 0, HYPERVISOR, 0, TIMER, 0)          \
	ROW(CNTHP_CTL_EL2, 3, 4, 14, 2, 1, HYPERVISOR, 0, TIMER, 0)           \
	ROW(CNTHP_CVAL_EL2, 3, 4, 14, 2, 2, HYPERVISOR, 0, TIMER, 0)          \
	ROW(CNTHV_TVAL_EL2, 3, 4, 14, 3, 0, HYPERVISOR, 0, TIMER, 0)          \
	ROW(CNTHV_CTL_EL2, 3, 4, 14, 3, 1, HYPERVISOR, 0, TIMER, 0)           \
	ROW(CNTHV_CVAL_EL2, 3, 4, 14, 3, 2, HYPERVISOR, 0, TIMER, 0)          \
	ROW(CNTP_TVAL_EL0, 3, 3, 14, 2, 0, CONTEXT, 0, TIMER, 0)              \
	ROW(CNTP_CVAL_EL0, 3, 3, 14, 2, 2, CONTEXT, 0, TIMER, 0x178)          \
	ROW(CNTV_TVAL_EL0, 3, 3, 14, 3, 0, CONTEXT, 0, TIMER, 0)              \
	ROW(CNTV_CVAL_EL0, 3, 3, 14, 3, 2, CONTEXT, 0, TIMER, 0x168)

enum register_number {
#define ROW(name, ...) REG_##name,
	REGISTERS(ROW)
#undef ROW
		REGISTER_COUNT,
	REG_NONE = REGISTER_COUNT /* no row */
};

/* A register's offset in the deferred page: FEAT_NV2's, or after all of those if FEAT_NV2 has none. */
#define REGISTER_OFFSET(page, number) ((page) ? (page) : 0x800 + 8 * (number))

enum register_offset {
#define ROW(name, op0, op1, n, m, op2, class, mask, nest, page) \
	OFFSET_##name = REGISTER_OFFSET(page, REG_##name),
	REGISTERS(ROW)
#undef ROW
};

enum register_class { CLASS_IDENTITY, CLASS_ZERO, CLASS_SGI, CLASS_CONTEXT, CLASS_HYPERVISOR };

enum register_nest {
	NEST_DIRECT,
	NEST_CONTROL,
	NEST_VM,
	NEST_REDIRECT,
	NEST_REDIRECT_VHE,
	NEST_CACHED,
	NEST_TRANSLATED,
	NEST_GIC,
	NEST_TIMER,
	NEST_PMU,
	NEST_DEBUG,
	NEST_AUXILIARY,
	NEST_TRAP
};

/* An encoding as in a trap's syndrome: op0, op2, op1, CRn, CRm, without the general register and the
 * direction (ESR_ELx, ISS for EC 0x18). */
#define ENCODING(op0, op1, n, m, op2) \
	((op0) << 20 | (op2) << 17 | (op1) << 14 | (n) << 10 | (m) << 1)
#define ENCODING_MASK	      ENCODING(3u, 7u, 15u, 15u, 7u)
#define ENCODED_OP0(encoding) ((encoding) >> 20 & 3)
#define ENCODED_OP1(encoding) ((encoding) >> 14 & 7)
#define ENCODED_CRN(encoding) ((encoding) >> 10 & 15)
#define ENCODED_CRM(encoding) ((encoding) >> 1 & 15)
#define ENCODED_OP2(encoding) ((encoding) >> 17 & 7)

struct register_row {
	const char *name;
	uint32_t encoding;
	enum register_class class;
	uint64_t mask;
	enum register_nest nest;
	unsigned page; /* offset in bytes, 0: none */
};
extern const struct register_row register_rows[REGISTER_COUNT];

/* The row of an encoding, or REG_NONE. A VHE hypervisor's name for its VM's register (SCTLR_EL12,
 * CNTV_CTL_EL02) finds that register. */
enum register_number register_find(uint32_t encoding);

/* Is the encoding in the range of identification registers (op0 3, op1 0, CRn 0, CRm 1 to 7)? Those
 * without a row read as zero. */
bool register_identifies(uint32_t encoding);

/* Is it a debug register other than MDSCR_EL1 that MDCR_EL2.TDA traps, on a CPU with this ID_AA64DFR0_EL1? */
bool register_debugs(uint32_t encoding, uint64_t dfr0);

/* Which CPU a VM sees: without EL2, or with virtual EL2 and this value of ID_AA64MMFR2_EL1.NV. */
enum identity { IDENTITY_VM, IDENTITY_EL2, IDENTITY_EL2_NV, IDENTITY_EL2_NV2 };

/* What a VM reads from an identification register whose value on this CPU is `own`. `vhe`: its virtual
 * EL2 has FEAT_VHE. */
uint64_t register_identity(enum register_number number, uint64_t own, enum identity identity,
			   bool vhe);

/* ---- Paravirtual calls ---------------------------------------------------------------------- */

/*
 * A hypervisor instruction encoded in HVC's immediate, for CPUs that cannot trap it at EL1 (Lim et al.,
 * section 4):
 *   15  1           14  write          13  the name of a VHE hypervisor (op1 5)
 *   12 to 5  the register's number; from CALL_TLBI on a TLBI: op1 / 4 (one bit), CRm, op2 (three bits each)
 *   4 to 0   the general register
 */
#define CALL_MARK     0x8000
#define CALL_WRITE    0x4000
#define CALL_VHE_NAME 0x2000
#define CALL_NUMBER   5 /* eight bits */
#define CALL_TLBI     128
#define CALL_ERET     0xffff

_Static_assert(REGISTER_COUNT <= CALL_TLBI, "a number in a call for each register");

/* ---- TLB maintenance ------------------------------------------------------------------------ */

/* What a guest hypervisor's TLBI affects: bits. */
#define TLBI_EL2     1	/* the hypervisor's own translations */
#define TLBI_STAGE1  2	/* stage 1 of the VM whose VMID is in VTTBR_EL2 */
#define TLBI_ADDRESS 4	/* stage 2 of that VM, around one address */
#define TLBI_STAGE2  8	/* stage 2 of that VM, all */
#define TLBI_ALL     16 /* all VMs */

/* By the instruction's op1, CRm and op2; an unknown TLBI affects everything. */
unsigned tlbi_concerns(unsigned op1, unsigned m, unsigned op2);

#endif
