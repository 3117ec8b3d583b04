/*
 * Bits and fields of system registers and translation tables, by their names in the architecture (DDI 0487,
 * D19 and D8.3; GIC: IHI 0069, 12). Names that end in _SHIFT, and those of identification registers, are
 * the lowest bit of a field. Nothing here depends on build options.
 */
#ifndef BITS_H
#define BITS_H

/* ---- HCR_EL2: what a VM runs under ----------------------------------------------------------- */

#define HCR_VM	  (1ull << 0) /* stage 2 */
#define HCR_SWIO  (1ull << 1) /* invalidation by set and way also cleans */
#define HCR_PTW	  (1ull << 2) /* a stage-1 walk through device memory faults */
#define HCR_FMO	  (1ull << 3) /* physical interrupts go to EL2, virtual ones are on, by kind */
#define HCR_IMO	  (1ull << 4)
#define HCR_AMO	  (1ull << 5)
#define HCR_VF	  (1ull << 6) /* a virtual FIQ, IRQ, SError is pending */
#define HCR_VI	  (1ull << 7)
#define HCR_VSE	  (1ull << 8)
#define HCR_FB	  (1ull << 9)  /* TLB and cache maintenance is broadcast */
#define HCR_BSU	  (3ull << 10) /* minimum shareability of barriers */
#define HCR_TWI	  (1ull << 13) /* WFI traps */
#define HCR_TWE	  (1ull << 14) /* WFE traps */
#define HCR_TID0  (1ull << 15) /* identification registers trap, by group */
#define HCR_TID1  (1ull << 16)
#define HCR_TID2  (1ull << 17)
#define HCR_TID3  (1ull << 18)
#define HCR_TSC	  (1ull << 19) /* SMC traps */
#define HCR_TIDCP (1ull << 20) /* implementation defined registers trap */
#define HCR_TACR  (1ull << 21) /* ACTLR_EL1 traps */
#define HCR_TSW	  (1ull << 22) /* cache maintenance traps, by kind */
#define HCR_TPCP  (1ull << 23)
#define HCR_TPU	  (1ull << 24)
#define HCR_TTLB  (1ull << 25) /* EL1's TLB maintenance traps */
#define HCR_TVM	  (1ull << 26) /* writes of EL1's translation registers trap */
#define HCR_TGE	  (1ull << 27) /* EL0's exceptions go to EL2, which is a host */
#define HCR_TDZ	  (1ull << 28) /* DC ZVA traps */
#define HCR_TRVM  (1ull << 30) /* reads of EL1's translation registers trap */
#define HCR_RW	  (1ull << 31) /* EL1 is AArch64 */
#define HCR_E2H	  (1ull << 34) /* EL2 can run a host kernel (FEAT_VHE) */
#define HCR_TLOR  (1ull << 35) /* LORegions' registers trap */
#define HCR_TERR  (1ull << 36) /* error records trap */
#define HCR_APK	  (1ull << 40) /* pointer authentication does not trap: keys, instructions */
#define HCR_API	  (1ull << 41)
#define HCR_NV	  (1ull << 42) /* EL1 runs as virtual EL2: its EL2 instructions trap (FEAT_NV) */
#define HCR_NV1	  (1ull << 43) /* ... as EL2 without HCR_EL2.E2H */
#define HCR_AT	  (1ull << 44) /* stage-1 AT traps */
#define HCR_NV2	  (1ull << 45) /* accesses go to the page of VNCR_EL2 instead (FEAT_NV2) */

/* ---- Other traps of EL2 ----------------------------------------------------------------------- */

/* CPTR_EL2 without HCR_EL2.E2H. */
#define CPTR_RES1  0x22ffull
#define CPTR_TZ	   (1ull << 8)	/* SVE traps; RES1 without SVE */
#define CPTR_TFP   (1ull << 10) /* floating point traps */
#define CPTR_TSM   (1ull << 12) /* SME traps; RES1 without SME */
#define CPTR_TTA   (1ull << 20) /* trace traps */
#define CPTR_TCPAC (1ull << 31) /* CPACR_EL1 traps; also with E2H */

/* CPACR_EL1, and CPTR_EL2 with HCR_EL2.E2H. */
#define CPACR_ZEN	 (3ull << 16) /* SVE does not trap */
#define CPACR_FPEN	 (3ull << 20) /* floating point does not trap */
#define CPACR_FPEN_SHIFT 20
#define CPACR_SMEN	 (3ull << 24) /* SME does not trap */
#define CPACR_TTA	 (1ull << 28) /* trace traps */

#define MDCR_HPMN  0x1full	/* number of event counters of the VM */
#define MDCR_TPMCR (1ull << 5)	/* PMCR_EL0 traps */
#define MDCR_TPM   (1ull << 6)	/* performance monitors trap */
#define MDCR_TDE   (1ull << 8)	/* debug exceptions go to EL2 */
#define MDCR_TDA   (1ull << 9)	/* debug registers trap */
#define MDCR_TDOSA (1ull << 10) /* OS lock and double lock trap */
#define MDCR_TDRA  (1ull << 11) /* ROM address registers trap */
#define MDCR_TPMS  (1ull << 14) /* statistical profiling traps */
#define MDCR_TTRF  (1ull << 19) /* trace filters trap */

/* Without HCR_EL2.E2H; with it both are CNTHCTL_E2H_SHIFT bits higher. */
#define CNTHCTL_EL1PCTEN  (1ull << 0) /* the physical counter does not trap */
#define CNTHCTL_EL1PCEN	  (1ull << 1) /* the physical timer does not trap */
#define CNTHCTL_BOTH	  (CNTHCTL_EL1PCTEN | CNTHCTL_EL1PCEN)
#define CNTHCTL_E2H_SHIFT 10

#define HSTR_T15 (1ull << 15) /* AArch32's coprocessor registers with CRn 15 trap */

/* PMUSERENR_EL0: what EL0 may use of performance monitors. */
#define PMUSERENR_EN (1ull << 0)
#define PMUSERENR_SW (1ull << 1)
#define PMUSERENR_CR (1ull << 2)
#define PMUSERENR_ER (1ull << 3)

#define CNT_CTL_ENABLE	1u
#define CNT_CTL_IMASK	2u
#define CNT_CTL_ISTATUS 4u /* the timer has expired */

/* ---- Exceptions ------------------------------------------------------------------------------- */

/* ESR_EL2 */
#define ESR_CLASS_SHIFT 26
#define ESR_CLASS_MASK	0x3f
#define ESR_LENGTH_32	(1ull << 25) /* IL */
#define EC_UNKNOWN	0x00
#define EC_WFX		0x01
#define EC_FP		0x07
#define EC_HVC		0x16
#define EC_SMC		0x17
#define EC_SYSREG	0x18
#define EC_ERET		0x1a
#define EC_INSN_ABORT	0x20 /* from a lower level */
#define EC_PC_ALIGNMENT 0x22
#define EC_DATA_ABORT	0x24
#define EC_OWN_ABORT	0x25 /* from EL2 itself; from EL1, for the page of VNCR_EL2 */
#define EC_WATCHPOINT	0x34 /* from a lower level */

/* Of EC_ERET. */
#define ERET_KEY_B	   (1u << 0)
#define ERET_AUTHENTICATES (1u << 1) /* ERETAA, ERETAB */

#define HVC_IMMEDIATE 0xffff /* of EC_HVC and EC_SMC */

/* Of EC_SYSREG; the encoding's fields are in registers.h. */
#define ISS_READ 1
#define ISS_RT	 5 /* five bits */
#define XZR	 31

/* Of EC_DATA_ABORT. */
#define ABORT_STATUS	  0x3f
#define ABORT_WRITE	  (1ull << 6)  /* WnR */
#define ABORT_STAGE1_WALK (1ull << 7)  /* S1PTW */
#define ABORT_MAINTENANCE (1ull << 8)  /* CM */
#define ABORT_WIDE	  (1ull << 15) /* SF: an X register */
#define ABORT_RT_SHIFT	  16	       /* SRT, five bits */
#define ABORT_SIGN_EXTEND (1ull << 21) /* SSE */
#define ABORT_SIZE_SHIFT  22	       /* SAS, two bits: log2 of bytes */
#define ABORT_VALID	  (1ull << 24) /* ISV: SF, SRT, SSE and SAS are valid */

/* Status codes; the level is in the low two bits. */
#define STATUS_ADDRESS_SIZE 0x00
#define STATUS_TRANSLATION  0x04
#define STATUS_ACCESS_FLAG  0x08
#define STATUS_PERMISSION   0x0c
#define STATUS_EXTERNAL	    0x10 /* not on a table walk: no level */
#define STATUS_WALK_ABORT   0x14
#define STATUS_ALIGNMENT    0x20 /* 0x21 without STATUS_LEVEL */
#define STATUS_LEVEL	    0x03u

#define HPFAR_FIPA 0xfffffffffffffff0ull /* FIPA: the address from bit 12 on */
#define HPFAR_UP   8			 /* left shift of FIPA that gives the address */

#define PAR_F	 (1ull << 0) /* the translation failed */
#define PAR_FST	 1	     /* fault status code */
#define PAR_S	 (1ull << 9) /* it was stage 2 that failed */
#define PAR_RES1 (1ull << 11)
#define PAR_PAGE 0x0000fffffffff000ull

/* PSTATE and SPSR. */
#define PSTATE_MODE	0xfull
#define PSTATE_SP	0x1ull /* SP_ELx, not SP_EL0 */
#define PSTATE_EL0T	0x0ull
#define PSTATE_EL1T	0x4ull
#define PSTATE_EL1H	0x5ull
#define PSTATE_LEVEL	0xcull
#define LEVEL_EL0	0x0ull
#define LEVEL_EL1	0x4ull
#define LEVEL_EL2	0x8ull
#define PSTATE_RESERVED 0x2ull
#define PSTATE_AARCH32	(1ull << 4)
#define PSTATE_DAIF	(0xfull << 6) /* masked: debug, SError, IRQ, FIQ */
#define PSTATE_BTYPE	(3ull << 10)
#define PSTATE_SSBS	(1ull << 12)
#define PSTATE_IL	(1ull << 20) /* illegal return: the next instruction faults */
#define PSTATE_SS	(1ull << 21)
#define PSTATE_PAN	(1ull << 22)
#define PSTATE_UAO	(1ull << 23)
#define PSTATE_DIT	(1ull << 24)
#define PSTATE_TCO	(1ull << 25)
#define PSTATE_NZCV	(0xfull << 28)

/* Offsets from VBAR. */
#define VECTOR_SAME_SP0	 0x000 /* from the same level, with SP_EL0 */
#define VECTOR_SAME_SPX	 0x200
#define VECTOR_LOWER	 0x400 /* from a lower level: synchronous */
#define VECTOR_LOWER_IRQ 0x480

/* ---- Translation ------------------------------------------------------------------------------ */

/* SCTLR_EL1 and SCTLR_EL2. */
#define SCTLR_M	      (1ull << 0) /* MMU */
#define SCTLR_A	      (1ull << 1) /* alignment is checked */
#define SCTLR_C	      (1ull << 2) /* data caches */
#define SCTLR_SA      (1ull << 3) /* SP's alignment is checked */
#define SCTLR_SA0     (1ull << 4)
#define SCTLR_CP15BEN (1ull << 5)
#define SCTLR_EOS     (1ull << 11) /* an exception return synchronizes */
#define SCTLR_I	      (1ull << 12) /* instruction caches */
#define SCTLR_EnDB    (1ull << 13) /* pointer authentication, by key */
#define SCTLR_nTWI    (1ull << 16)
#define SCTLR_nTWE    (1ull << 18)
#define SCTLR_WXN     (1ull << 19) /* writable memory is not executable */
#define SCTLR_TSCXT   (1ull << 20)
#define SCTLR_EIS     (1ull << 22) /* an exception synchronizes */
#define SCTLR_SPAN    (1ull << 23) /* an exception leaves PSTATE.PAN as it is */
#define SCTLR_EE      (1ull << 25) /* big-endian */
#define SCTLR_EnDA    (1ull << 27)
#define SCTLR_nTLSMD  (1ull << 28)
#define SCTLR_LSMAOE  (1ull << 29)
#define SCTLR_EnIB    (1ull << 30)
#define SCTLR_EnIA    (1ull << 31)

/* RES1 bits in ARMv8.0. */
#define SCTLR_EL1_RES1 \
	(SCTLR_EOS | SCTLR_TSCXT | SCTLR_EIS | SCTLR_SPAN | SCTLR_nTLSMD | SCTLR_LSMAOE)
#define SCTLR_EL2_RES1                                                                 \
	(SCTLR_SA0 | SCTLR_CP15BEN | SCTLR_EOS | SCTLR_nTWI | SCTLR_nTWE | SCTLR_EIS | \
	 SCTLR_SPAN | SCTLR_nTLSMD | SCTLR_LSMAOE)

/* Of an address: the tables of TTBR1. */
#define VA_UPPER    (1ull << 55)
#define MAX_VA_BITS 48 /* without 52-bit addresses */

/* TCR_EL1, TCR_EL2 and VTCR_EL2: the lower half is the same in all three. */
#define TCR_TXSZ	 0x3full      /* 64 minus bits of input address; T1SZ is at TCR_T1 */
#define TCR_IRGN0_WB	 (1ull << 8)  /* walks: inner write-back */
#define TCR_ORGN0_WB	 (1ull << 10) /* outer write-back */
#define TCR_SH0_INNER	 (3ull << 12) /* inner shareable */
#define TCR_TG0_SHIFT	 14	      /* granule */
#define TCR_LOWER	 0xffffull    /* all of these */
/* TCR_EL1, and TCR_EL2 with HCR_EL2.E2H. */
#define TCR_T1		 16	      /* offset of the fields for the upper half of addresses */
#define TCR_EPD1	 (1ull << 23) /* no walks for the upper half */
#define TCR_TG1_SHIFT	 30
#define TCR_IPS_SHIFT	 32 /* size of output addresses */
#define TCR_TBI0	 37 /* the top byte is ignored */
#define TCR_HA		 39 /* hardware sets the access flag (HD, next bit: dirty state) */
#define TCR_HPD0	 41 /* no hierarchical permissions */
#define TCR_TBID0	 51 /* ... but not of an instruction's address */
#define TCR_DS		 59 /* 52-bit addresses */
/* TCR_EL2 without HCR_EL2.E2H, and VTCR_EL2. */
#define TCR_EL2_PS_SHIFT 16
#define TCR_EL2_TBI	 20
#define TCR_EL2_HA	 21
#define TCR_EL2_HPD	 24
#define TCR_EL2_DS	 32
#define TCR_EL2_RES1	 (1ull << 23 | 1ull << 31)
#define VTCR_SL0_SHIFT	 6 /* start level of walks */
#define VTCR_RES1	 (1ull << 31)

#define VTTBR_CNP	 (1ull << 0) /* CPUs share these tables */
#define VTTBR_VMID_SHIFT 48

#define VNCR_BADDR	0x001ffffffffff000ull
#define VNCR_SIGN_SHIFT 52 /* RESS: copies of this bit */

#define PARANGE_48 5 /* of ID_AA64MMFR0_EL1, TCR and VTCR */

/* Table entries of stage 1 and stage 2. */
#define ENTRY_VALID	       (1ull << 0)
#define ENTRY_TABLE	       (1ull << 1) /* at the last level: a page */
#define ENTRY_ADDRESS	       0x0000fffffffff000ull
#define LEAF_SHARED	       (3ull << 8) /* inner shareable */
#define LEAF_ACCESSED	       (1ull << 10)
#define LEAF_NO_EXECUTE	       (1ull << 54)
#define STAGE1_ATTRIBUTES(n)   ((unsigned long long)(n) << 2) /* of MAIR */
#define STAGE1_AP1	       (1ull << 6)  /* EL0 has access; RES1 in tables for EL2 only */
#define STAGE1_READ_ONLY       (1ull << 7)  /* AP[2] */
#define STAGE1_NO_EXECUTE      (3ull << 53) /* PXN and UXN */
#define STAGE1_TABLE_READ_ONLY (1ull << 62) /* APTable[1]: everything below it */
#define LEAF_MEMORY	       (15ull << 2) /* MemAttr: all ones is write-back */
#define LEAF_READ	       (1ull << 6)
#define LEAF_WRITE	       (1ull << 7)

/* ---- Identification registers: ID_AA64*_EL1 --------------------------------------------------- */

#define PFR0_EL0     0
#define PFR0_EL1     4
#define PFR0_EL2     8
#define PFR0_FP	     16
#define PFR0_ADVSIMD 20
#define PFR0_GIC     24
#define PFR0_RAS     28
#define PFR0_DIT     48
#define PFR0_CSV2    56
#define PFR0_CSV3    60

#define PFR1_BT	  0
#define PFR1_SSBS 4

#define DFR0_DEBUGVER 0
#define DFR0_BRPS     12
#define DFR0_WRPS     20
#define DFR0_CTX_CMPS 28

#define ISAR0_TLB      56
#define ISAR1_APA      4
#define ISAR1_API      8
#define ISAR1_LS64     60
#define ISAR2_WFXT     0
#define ISAR2_RPRES    4
#define ISAR2_GPA3     8
#define ISAR2_APA3     12
#define ISAR2_BC       20
#define ISAR2_PAC_FRAC 24
#define ISAR2_CLRBHB   28

#define MMFR0_PARANGE	0
#define MMFR0_ASIDBITS	4
#define MMFR0_BIGEND	8
#define MMFR0_SNSMEM	12
#define MMFR0_BIGENDEL0 16
#define MMFR0_TGRAN16	20
#define MMFR0_TGRAN64	24
#define MMFR0_TGRAN4	28
#define MMFR0_TGRAN4_2	40
#define MMFR0_EXS	44
#define MMFR0_FGT	56

#define MMFR1_HAFDBS  0
#define MMFR1_VH      8
#define MMFR1_HPDS    12
#define MMFR1_PAN     20
#define MMFR1_SPECSEI 24
#define MMFR1_ETS     36
#define MMFR1_HCX     40
#define MMFR1_AFP     44

#define MMFR2_CNP     0
#define MMFR2_UAO     4
#define MMFR2_LSM     8
#define MMFR2_IESB    12
#define MMFR2_VARANGE 16
#define MMFR2_CCIDX   20
#define MMFR2_NV      24
#define MMFR2_ST      28
#define MMFR2_AT      32
#define MMFR2_IDS     36
#define MMFR2_TTL     48
#define MMFR2_BBM     52
#define MMFR2_E0PD    60

#define MPIDR_AFFINITY 0xff00ffffffull
#define MPIDR_RES1     (1ull << 31)

#define CTR_DMINLINE_SHIFT 16 /* log2 of words in the smallest line of data caches, four bits */

/* ---- GIC: CPU interface (ICC), hypervisor control interface (ICH) ------------------------------ */

#define ICC_SRE_SRE    1ull /* system registers */
#define ICC_SRE_DFB    2ull /* no bypass: FIQ, IRQ */
#define ICC_SRE_DIB    4ull
#define ICC_SRE_ENABLE 8ull /* EL1 may access ICC_SRE_EL1 */

#define ICC_CTLR_EOIMODE 2ull /* EOI only drops the priority; ICC_DIR deactivates */

#define INTID_MASK    0xffffff
#define INTID_SPECIAL 1020 /* from here on: no interrupt */

/* ICC_SGI<n>R_EL1. */
#define SGI_AFF1_SHIFT 16
#define SGI_INTID      24 /* four bits */
#define SGI_AFF2_SHIFT 32
#define SGI_IRM	       (1ull << 40) /* all but the sender */
#define SGI_RS_SHIFT   44	    /* four bits */
#define SGI_AFF3_SHIFT 48
#define SGI_AFFINITIES 0x00ff00ff00ff0000ull

#define ICH_LR_ACTIVE	      (1ull << 63)
#define ICH_LR_PENDING	      (1ull << 62)
#define ICH_LR_STATE	      (ICH_LR_ACTIVE | ICH_LR_PENDING)
#define ICH_LR_HW	      (1ull << 61) /* its end deactivates a physical interrupt */
#define ICH_LR_GROUP1	      (1ull << 60)
#define ICH_LR_PRIORITY_SHIFT 48
#define ICH_LR_EOI	      (1ull << 41) /* without HW: a maintenance interrupt at its end */
#define ICH_LR_PINTID_SHIFT   32	   /* with HW */
#define ICH_LR_PINTID	      0x3ffull
#define ICH_LR_RES0_HW	      (7ull << 42)
#define ICH_LR_RES0	      (3ull << 58)

#define ICH_HCR_EN	   (1ull << 0)
#define ICH_HCR_UIE	   (1ull << 1)	/* maintenance interrupt if at most one is in use */
#define ICH_HCR_LRENPIE	   (1ull << 2)	/* ... if one ended that is in no list register */
#define ICH_HCR_NPIE	   (1ull << 3)	/* ... if nothing is pending */
#define ICH_HCR_VGRP	   (15ull << 4) /* ... if group 0 is enabled, disabled; group 1 likewise */
#define ICH_HCR_VGRP_SHIFT 4
#define ICH_HCR_TC	   (1ull << 10) /* ICC registers trap, by kind */
#define ICH_HCR_TALL0	   (1ull << 11)
#define ICH_HCR_TALL1	   (1ull << 12)
#define ICH_HCR_TSEI	   (1ull << 13)
#define ICH_HCR_TDIR	   (1ull << 14)
#define ICH_HCR_EOICOUNT   (31ull << 27)

#define ICH_MISR_EOI   (1ull << 0)
#define ICH_MISR_U     (1ull << 1)
#define ICH_MISR_LRENP (1ull << 2)
#define ICH_MISR_NP    (1ull << 3)

#define ICH_VMCR_VENG0	    (1ull << 0)
#define ICH_VMCR_VPMR_SHIFT 24

#define ICH_VTR_LISTREGS      0x1full /* minus one */
#define ICH_VTR_PREBITS_SHIFT 26      /* three bits; minus one */

#endif
