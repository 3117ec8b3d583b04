/*
 * System registers as data: one row each says its name, its encoding and its class, which is what
 * becomes of it in a VM. Accessors, trap emulation, reset and the names of trap counts come from these
 * rows. (DDI 0487, D19; encodings are op0, op1, CRn, CRm, op2.)
 *
 * Classes:
 *   IDENTITY  trapped by HCR_EL2.TID3: reads give the CPU's own value, of which the mask's bits are kept
 *   ZERO      trapped: reads as zero, ignores writes
 *   SGI       trapped by HCR_EL2.IMO and FMO: a write sends virtual interrupts; the mask is the group
 *   CONTEXT   the VM's own, in the hardware; the mask is its value at reset
 * An identification register that has no row is all zeros; any other that traps is undefined.
 */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* The four-bit field of an identification register that begins at this bit. */
#define FIELD(bit) (0xfull << (bit))
#define ALL_FIELDS (~0ull)

/*
 * Left out of what a VM is told, because it is not virtualized here, or only at the price of traps that
 * would be counted: EL2, EL3, AArch32, SVE, SME, RAS, AMU, MPAM, MTE, performance monitors, statistical
 * profiling, trace, LORegions, nested virtualization, fine-grained traps, MOPS, LS64.
 */
#define KEEP_PFR0  (FIELD(16) | FIELD(20) | FIELD(24) | FIELD(48) | FIELD(56) | FIELD(60))
#define KEEP_PFR1  (FIELD(0) | FIELD(4))
#define KEEP_DFR0  (FIELD(0) | FIELD(12) | FIELD(20) | FIELD(28))
#define KEEP_ISAR1 (~FIELD(60))
#define KEEP_ISAR2 (FIELD(0) | FIELD(4) | FIELD(8) | FIELD(12) | FIELD(20) | FIELD(24) | FIELD(28))
#define KEEP_MMFR0                                                                         \
	(FIELD(4) | FIELD(8) | FIELD(12) | FIELD(16) | FIELD(20) | FIELD(24) | FIELD(28) | \
	 FIELD(44))
#define KEEP_MMFR1 (FIELD(0) | FIELD(12) | FIELD(20) | FIELD(24) | FIELD(36) | FIELD(44))
#define KEEP_MMFR2                                                                        \
	(FIELD(0) | FIELD(4) | FIELD(8) | FIELD(12) | FIELD(16) | FIELD(20) | FIELD(28) | \
	 FIELD(32) | FIELD(36) | FIELD(48) | FIELD(52) | FIELD(60))

/* SCTLR_EL1's bits that are 1 in ARMv8.0. */
#define SCTLR_RESET (1ull << 11 | 1 << 20 | 1 << 22 | 1 << 23 | 1 << 28 | 1 << 29)

/* ROW(name, op0, op1, CRn, CRm, op2, class, mask) */
#define REGISTERS(ROW)                                             \
	ROW(ID_AA64PFR0_EL1, 3, 0, 0, 4, 0, IDENTITY, KEEP_PFR0)   \
	ROW(ID_AA64PFR1_EL1, 3, 0, 0, 4, 1, IDENTITY, KEEP_PFR1)   \
	ROW(ID_AA64DFR0_EL1, 3, 0, 0, 5, 0, IDENTITY, KEEP_DFR0)   \
	ROW(ID_AA64ISAR0_EL1, 3, 0, 0, 6, 0, IDENTITY, ALL_FIELDS) \
	ROW(ID_AA64ISAR1_EL1, 3, 0, 0, 6, 1, IDENTITY, KEEP_ISAR1) \
	ROW(ID_AA64ISAR2_EL1, 3, 0, 0, 6, 2, IDENTITY, KEEP_ISAR2) \
	ROW(ID_AA64MMFR0_EL1, 3, 0, 0, 7, 0, IDENTITY, KEEP_MMFR0) \
	ROW(ID_AA64MMFR1_EL1, 3, 0, 0, 7, 1, IDENTITY, KEEP_MMFR1) \
	ROW(ID_AA64MMFR2_EL1, 3, 0, 0, 7, 2, IDENTITY, KEEP_MMFR2) \
	ROW(ACTLR_EL1, 3, 0, 1, 0, 1, ZERO, 0)                     \
	ROW(ICC_SGI1R_EL1, 3, 0, 12, 11, 5, SGI, 1)                \
	ROW(ICC_ASGI1R_EL1, 3, 0, 12, 11, 6, SGI, 0)               \
	ROW(ICC_SGI0R_EL1, 3, 0, 12, 11, 7, SGI, 0)                \
	ROW(SCTLR_EL1, 3, 0, 1, 0, 0, CONTEXT, SCTLR_RESET)        \
	ROW(CPACR_EL1, 3, 0, 1, 0, 2, CONTEXT, 0)                  \
	ROW(TTBR0_EL1, 3, 0, 2, 0, 0, CONTEXT, 0)                  \
	ROW(TTBR1_EL1, 3, 0, 2, 0, 1, CONTEXT, 0)                  \
	ROW(TCR_EL1, 3, 0, 2, 0, 2, CONTEXT, 0)                    \
	ROW(SPSR_EL1, 3, 0, 4, 0, 0, CONTEXT, 0)                   \
	ROW(ELR_EL1, 3, 0, 4, 0, 1, CONTEXT, 0)                    \
	ROW(SP_EL0, 3, 0, 4, 1, 0, CONTEXT, 0)                     \
	ROW(SP_EL1, 3, 4, 4, 1, 0, CONTEXT, 0)                     \
	ROW(AFSR0_EL1, 3, 0, 5, 1, 0, CONTEXT, 0)                  \
	ROW(AFSR1_EL1, 3, 0, 5, 1, 1, CONTEXT, 0)                  \
	ROW(ESR_EL1, 3, 0, 5, 2, 0, CONTEXT, 0)                    \
	ROW(FAR_EL1, 3, 0, 6, 0, 0, CONTEXT, 0)                    \
	ROW(PAR_EL1, 3, 0, 7, 4, 0, CONTEXT, 0)                    \
	ROW(MAIR_EL1, 3, 0, 10, 2, 0, CONTEXT, 0)                  \
	ROW(AMAIR_EL1, 3, 0, 10, 3, 0, CONTEXT, 0)                 \
	ROW(VBAR_EL1, 3, 0, 12, 0, 0, CONTEXT, 0)                  \
	ROW(CONTEXTIDR_EL1, 3, 0, 13, 0, 1, CONTEXT, 0)            \
	ROW(TPIDR_EL1, 3, 0, 13, 0, 4, CONTEXT, 0)                 \
	ROW(TPIDR_EL0, 3, 3, 13, 0, 2, CONTEXT, 0)                 \
	ROW(TPIDRRO_EL0, 3, 3, 13, 0, 3, CONTEXT, 0)               \
	ROW(CSSELR_EL1, 3, 2, 0, 0, 0, CONTEXT, 0)                 \
	ROW(CNTKCTL_EL1, 3, 0, 14, 1, 0, CONTEXT, 0)               \
	ROW(MDSCR_EL1, 2, 0, 0, 2, 2, CONTEXT, 0)                  \
	ROW(CNTP_CTL_EL0, 3, 3, 14, 2, 1, CONTEXT, 0)              \
	ROW(CNTV_CTL_EL0, 3, 3, 14, 3, 1, CONTEXT, 0)

enum register_number {
#define ROW(name, op0, op1, n, m, op2, class, mask) REG_##name,
	REGISTERS(ROW)
#undef ROW
		REGISTER_COUNT,
	REG_NONE = REGISTER_COUNT /* one that has no row */
};

enum register_class { CLASS_IDENTITY, CLASS_ZERO, CLASS_SGI, CLASS_CONTEXT };

/* An encoding as a trap's syndrome has it: op0, op2, op1, CRn, CRm, from bit 19 of ten down, without
 * the register and the direction (ESR_ELx, ISS for EC 0x18). */
#define ENCODING(op0, op1, n, m, op2) \
	((op0) << 20 | (op2) << 17 | (op1) << 14 | (n) << 10 | (m) << 1)
#define ENCODING_MASK ENCODING(3u, 7u, 15u, 15u, 7u)

struct register_row {
	const char *name;
	uint32_t encoding;
	enum register_class class;
	uint64_t mask;
};
extern const struct register_row register_rows[REGISTER_COUNT];

/* The row of that encoding, or REG_NONE. */
enum register_number register_find(uint32_t encoding);

/* Is it in the range that the architecture keeps for identification (op0 3, op1 0, CRn 0, CRm 1 to 7)?
 * Those without a row read as zero. */
bool register_identifies(uint32_t encoding);

/* What a VM reads of an identification register whose value on this CPU is `own`. */
uint64_t register_identity(enum register_number number, uint64_t own);

#endif
