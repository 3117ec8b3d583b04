/*
 * Timed loops and their operations for aarch64.
 *
 * They are assembly, so that every compiler generates the same instructions, and take all addresses from
 * registers, so that their bytes do not depend on their address: a digest of these bytes identifies what
 * was measured (docs/method.md). Each is a pair, NAME_run and NAME_control, the same except for the
 * operation.
 *
 * Contract of a loop:  uint64_t NAME_run(uint64_t iterations, void *operand)
 *   in        x0 = iterations, at least 1; x1 = operand
 *   free use  x0 to x16, flags; x17 is the macro's pass counter
 *             (TIMED_EACH: x2 to x13; x0 is the pass counter, x14 to x17 are the macro's)
 *   out       x0: for TIMED_EACH the sum of the operations' ticks, else nothing
 */
#ifndef TIMED_H
#define TIMED_H

#include "timed_shared.h"

#define TIMED_BODY(symbol, body)                                                \
	__asm__(".pushsection .timed, \"ax\", %progbits\n"                      \
		".p2align 6\n"                                                  \
		".globl " symbol "\n"                                           \
		".type " symbol ", %function\n" symbol ":\n\t" body "\n\tret\n" \
		".size " symbol ", . - " symbol "\n"                            \
		".popsection\n")

/* A body that does nothing. */
#define TIMED_NOTHING "mov x0, #0"

#define TIMED_COUNT "mov x17, x0\n\t"
#define TIMED_NEXT  "\n\tsubs x17, x17, #1\n\tb.ne 1b\n\t"

/* The simple case: one operation on the memory at the operand. */
#define TIMED_LOOP(name, op) TIMED_PAIR(name, "", "", op, "")

/*
 * Operations on a register that exists for EL1 and EL2: one loop with the name used at EL1 and at EL2 with
 * E2H, one with the name used at EL2 without it. operand: struct register_operand.
 */
struct register_operand {
	uint64_t value;	    /* the register's current value; for a read, the last one */
	uint64_t plain_el2; /* 1: EL2 without E2H */
};
#define TIMED_BY_LEVEL(name, el1, el2)                                                       \
	TIMED_BODY(#name "_run", TIMED_BEFORE_LEVEL "1:\t" el1 TIMED_NEXT "b 9f\n2:\t" el2   \
						    "\n\tsubs x17, x17, #1\n\tb.ne 2b\n9:"); \
	TIMED_BODY(#name "_control", TIMED_BEFORE_LEVEL                                      \
		   "1:" TIMED_NEXT "b 9f\n2:\tsubs x17, x17, #1\n\tb.ne 2b\n9:");            \
	TIMED_DECLARE(name)
#define TIMED_BEFORE_LEVEL TIMED_COUNT "ldp x2, x3, [x1]\n\tcbnz x3, 2f\n"

/*
 * Ordered reads of the counter: DSB waits until all earlier instructions and their loads and stores have
 * completed, ISB keeps the read from being done early, the second ISB keeps later instructions from
 * starting (DDI 0487, D12.1.2, and its barriers in B2.3.12).
 */
#define TIMED_NOW(to) "dsb sy\n\tisb\n\tmrs " to ", cntvct_el0\n\tisb"

/*
 * Passes timed one by one and summed, for operations that need a settling time in between (`settle`: in
 * both loops, not timed).
 */
#define TIMED_EACH_BODY(symbol, before, timed, after)                                           \
	TIMED_BODY(symbol,                                                                      \
		   "mov x15, #0\n1:\t" before                                                   \
		   "\n\t" TIMED_NOW("x14") "\n\t" timed "\n\t" TIMED_NOW(                       \
			   "x16") "\n\tsub x16, x16, x14\n\tadd x15, "                          \
				  "x15, x16\n\t" after "\n\tsubs x0, x0, #1\n\tb.ne 1b\n\tmov " \
				  "x0, x15")
/* ---- Operations on registers --------------------------------------------------------------- */

/* The interrupt masks of PSTATE, the equivalent of x86's flags. */
#define OP_PUSHF_POPF "mrs x2, daif\n\tmsr daif, x2"

/* An identification register that hypervisors trap (HCR_EL2.TID3), and one that all levels may read (TID2).
 * operand: struct register_operand; its value is set to the last one read. */
#define TIMED_READ_ID_REGISTER(name) \
	TIMED_PAIR(name, "mov x2, #0", "", "mrs x2, id_aa64pfr0_el1", "str x2, [x1]")
#define TIMED_READ_CACHE_TYPE(name) \
	TIMED_PAIR(name, "mov x2, #0", "", "mrs x2, ctr_el0", "str x2, [x1]")

/* ISB: the new value takes effect only after it. */
#define TIMED_WRITE_VECTOR_BASE(name) \
	TIMED_BY_LEVEL(name, "msr vbar_el1, x2\n\tisb", "msr vbar_el2, x2\n\tisb")
#define TIMED_WRITE_CONTROL_REGISTER(name) \
	TIMED_BY_LEVEL(name, "msr sctlr_el1, x2\n\tisb", "msr sctlr_el2, x2\n\tisb")
/* All of this CPU's TLB for the current translation regime. */
#define TIMED_TLB_INVALIDATE(name) \
	TIMED_BY_LEVEL(name, "tlbi vmalle1\n\tdsb nsh\n\tisb", "tlbi alle2\n\tdsb nsh\n\tisb")

/* The page-table root. */
struct root_operand {
	uint64_t root; /* current value */
	uint64_t plain_el2;
};
#define TIMED_SET_ROOT(name) \
	TIMED_BY_LEVEL(name, "msr ttbr0_el1, x2\n\tisb", "msr ttbr0_el2, x2\n\tisb")

/* ---- Hypercalls ---------------------------------------------------------------------------- */

/*
 * The cheapest hypercall: by the SMC calling convention (Arm DEN 0028), or Xen's. At EL2 it is SMC, because
 * HVC there goes to the guest itself. One loop per instruction, so the selection costs nothing. SMCCC lets
 * a callee change only x0 to x17, and so does Xen.
 */
struct hypercall_operand {
	uint64_t first;	      /* x0: the function's number; Xen: the first argument */
	uint64_t instruction; /* 0: HVC #0; 1: SMC #0; 2: Xen's HVC #0xEA1 */
	uint64_t wanted;      /* expected x0 */
	uint64_t wrong;	      /* passes before the last with another result */
	uint64_t last;	      /* result of the last pass */
	uint64_t number;      /* x16: Xen's hypercall number */
};
/* x19 = passes left, x20 = operand, x21 = first, x22 = wanted, x23 = wrong, x24 = number */
#define HYPERCALL_BEFORE                                                                           \
	"stp x19, x20, [sp, #-48]!\n\tstp x21, x22, [sp, #16]\n\tstp x23, x24, [sp, #32]\n\t"      \
	"mov x19, x0\n\tmov x20, x1\n\tldr x21, [x1]\n\tldr x22, [x1, #16]\n\tldr x24, [x1, "      \
	"#40]\n\tmov x23, #0\n\tmov x0, x22\n\tldr x2, [x1, #8]\n\tcmp x2, #1\n\tb.eq 2f\n\tb.hi " \
	"3f\n"
#define HYPERCALL_EACH \
	"cmp x0, x22\n\tcinc x23, x23, ne\n\tmov x0, x21\n\tmov x1, #0\n\tmov x16, x24\n\t"
#define HYPERCALL_LOOP(label, op) \
	label ":\t" HYPERCALL_EACH op "\tsubs x19, x19, #1\n\tb.ne " label "b\n\tb 9f\n"
#define HYPERCALL_AFTER                                                                \
	"9:\tstr x0, [x20, #32]\n\tldr x2, [x20, #24]\n\tadd x2, x2, x23\n\t"          \
	"str x2, [x20, #24]\n\tldp x23, x24, [sp, #32]\n\tldp x21, x22, [sp, #16]\n\t" \
	"ldp x19, x20, [sp], #48"
#define HYPERCALL_BODY(symbol, hvc, smc, xen)                                                 \
	TIMED_BODY(symbol, HYPERCALL_BEFORE HYPERCALL_LOOP("1", hvc) HYPERCALL_LOOP("2", smc) \
				   HYPERCALL_LOOP("3", xen) HYPERCALL_AFTER)
#define TIMED_HYPERCALL(name)                                                 \
	HYPERCALL_BODY(#name "_run", "hvc #0\n", "smc #0\n", "hvc #0xea1\n"); \
	HYPERCALL_BODY(#name "_control", "", "", "");                         \
	TIMED_DECLARE(name)

/* ---- Device registers ---------------------------------------------------------------------- */

/* A port is the address of a device register. */
typedef uint64_t io_port;
struct port_operand {
	io_port port;
	uint32_t value;	    /* written, or last read */
	const char *string; /* for OP_PORT_STRING */
	uint64_t bytes;
};
#define BEFORE_PORT    "ldr x2, [x1]\n\tldr w3, [x1, #8]"
#define OP_PORT_IN     "ldrb w3, [x2]"
#define OP_PORT_OUT    "strb w3, [x2]"
#define AFTER_PORT_IN  "str w3, [x1, #8]"
#define BEFORE_STRING  "ldr x2, [x1]\n\tldp x8, x9, [x1, #16]"
#define EACH_STRING    "mov x4, x8\n\tmov x5, x9"
#define OP_PORT_STRING "2:\tldrb w3, [x4], #1\n\tstrb w3, [x2]\n\tsubs x5, x5, #1\n\tb.ne 2b"

/* ---- Memory -------------------------------------------------------------------------------- */

#define BEFORE_WALK "ldp x2, x3, [x1]\n\tldp x4, x5, [x1, #16]"
/*
 * The cursor is incremented first and wraps, so that the operation itself is one load. The previous load's
 * value is reduced to 0 and added: an address dependency (DDI 0487, B2.3), so each load waits for the one
 * before, and page-table walks do not overlap.
 */
#define EACH_WALK \
	"eor x7, x6, x6\n\tadd x2, x2, x7\n\tadd x2, x2, x5\n\tcmp x2, x4\n\tcsel x2, x3, x2, hs"
#define OP_WALK_READ "ldr x6, [x2]"
#define AFTER_WALK   "str x2, [x1]\n\tstr x6, [x1, #32]"

/* Descriptors (DDI 0487, D8.3): valid, page or table, attributes 1 (paging.c), inner shareable,
 * accessed. */
#define PTE_PAGE_4K   "0x707"
#define PTE_PAGE_2M   "0x705"
/* x8 = root, x9 = va, x10 = pa; x5 = table, x4 = slot, x6 and x7 = scratch */
#define BEFORE_SET_PT "ldp x8, x9, [x1]\n\tldr x10, [x1, #16]"
#define EACH_SET_PT(bytes)                                                        \
	"add x9, x9, #" bytes "\n\tadd x10, x10, #" bytes "\n\tldp x6, x7, [x1, " \
	"#24]\n\tcmp x10, x6\n\tcsel x10, x7, x10, hs"
#define SET_PT_LEVEL(shift)                                                                       \
	"ubfx x4, x9, #" shift ", #9\n\tadd x4, x5, x4, lsl #3\n\tldr x5, [x4]\n\t"               \
	"tbnz x5, #0, 2f\n\tldp x5, x6, [x1, #40]\n\tcmp x5, x6\n\tb.hs 8f\n\t"                   \
	"add x6, x5, #4096\n\tstr x6, [x1, #40]\n\torr x5, x5, #3\n\tdmb ishst\n\tstr x5, [x4]\n" \
	"2:\tand x5, x5, #0x0000fffffffff000\n\t"
/* The barriers make the entry visible to the walker. */
#define SET_PT_LEAF(shift, bits)                                                               \
	"ubfx x4, x9, #" shift ", #9\n\tmov x6, #" bits "\n\torr x6, x6, x10\n\tstr x6, [x5, " \
	"x4, lsl #3]\n\tdsb ishst\n\tisb\n\tb 9f\n"                                            \
	"8:\tldr x6, [x1, #56]\n\tadd x6, x6, #1\n\tstr x6, [x1, #56]\n9:"
#define OP_SET_PT_4K                                                              \
	"mov x5, x8\n\t" SET_PT_LEVEL("39") SET_PT_LEVEL("30") SET_PT_LEVEL("21") \
		SET_PT_LEAF("12", PTE_PAGE_4K)
#define OP_SET_PT_2M \
	"mov x5, x8\n\t" SET_PT_LEVEL("39") SET_PT_LEVEL("30") SET_PT_LEAF("21", PTE_PAGE_2M)
#define AFTER_SET_PT "stp x9, x10, [x1, #8]"

/* ---- Interrupts ---------------------------------------------------------------------------- */

/*
 * IPI: sends one interrupt to another CPU and waits until its handler has counted it. With `yield` the
 * waiting loop has a YIELD, which makes an emulator that runs all CPUs on one thread switch to the
 * receiver.
 */
struct ipi_operand {
	uint64_t gicv3;		     /* 1: ICC_SGI1R_EL1; 0: GICD_SGIR in memory */
	uint64_t command;	     /* the value to write */
	volatile uint32_t *sgir;     /* GICD_SGIR */
	volatile uint64_t *received; /* the receivers' count */
	volatile uint64_t *ready;    /* 1 while the receiver is in its waiting loop */
	uint64_t yield;
	uint64_t settle_passes; /* YIELDs between two IPIs, not timed */
};
#define OP_IPI                                                                                  \
	"ldp x3, x2, [x1]\n\tldp x4, x10, [x1, #16]\n\tldr x6, [x1, #40]\n\tldr x11, [x10]\n\t" \
	"dsb ishst\n\tcbz x3, 2f\n\tmsr s3_0_c12_c11_5, x2\n\tisb\n\tb 3f\n"                    \
	"2:\tstr w2, [x4]\n"                                                                    \
	"3:\tldr x5, [x10]\n\tcmp x5, x11\n\tb.ne 5f\n\tcbz x6, 3b\n\tyield\n\tb 3b\n5:"
#define SETTLE_IPI                                                         \
	"ldr x10, [x1, #32]\n6:\tyield\n\tldr x2, [x10]\n\tcbz x2, 6b\n\t" \
	"ldr x11, [x1, #48]\n7:\tyield\n\tsubs x11, x11, #1\n\tb.ne 7b"

/*
 * An access to a register of the interrupt controller that hypervisors emulate: a read of GICD_IIDR, which
 * identifies the distributor's implementer. kvm-unit-tests reads it too (mmio_read_vgic).
 */
struct controller_operand {
	uint64_t address;
	uint64_t value;	 /* last read */
	uint64_t wanted; /* expected value */
};
#define TIMED_CONTROLLER_ACCESS(name) \
	TIMED_PAIR(name, "ldr x2, [x1]\n\tmov x3, #0", "", "ldr w3, [x2]", "str x3, [x1, #8]")

/*
 * The end of an active interrupt. Each pass first, not timed, sends an interrupt to this CPU, which keeps
 * it masked and takes it by reading the acknowledge register. The control ends it too, not timed.
 */
struct completion_operand {
	uint64_t cpu_interface; /* GICv2: its registers; 0: system registers */
	uint64_t command;	/* the value for ICC_SGI1R_EL1 or GICD_SGIR */
	volatile uint32_t *sgir;
	uint64_t wanted; /* its INTID */
	uint64_t missed; /* passes in which none arrived */
	uint64_t acknowledged;
};
/* x2 = CPU interface, x4 = what was acknowledged. A bounded wait. */
#define BEFORE_COMPLETION                                                                   \
	"ldp x2, x3, [x1]\n\tldp x5, x6, [x1, #16]\n\tmov x7, #10000\n\tdsb sy\n\t"         \
	"cbz x2, 2f\n\tstr w3, [x5]\n3:\tldr w4, [x2, #12]\n\tb 4f\n2:\tmsr "               \
	"s3_0_c12_c11_5, x3\n\tisb\n5:\tmrs x4, s3_0_c12_c12_0\n\tdsb sy\n4:\tand x8, x4, " \
	"#0x3ff\n\tcmp x8, x6\n\tb.eq 6f\n\tsubs x7, x7, #1\n\tb.eq 7f\n\tcbnz x2, 3b\n\t"  \
	"b 5b\n7:\tldr x8, [x1, #32]\n\tadd x8, x8, #1\n\tstr x8, [x1, #32]\n6:\tstr x4, [x1, #40]"
#define COMPLETION_FROM_OPERAND "ldr x2, [x1]\n\tldr x4, [x1, #40]"
#define OP_COMPLETION		"cbnz x2, 8f\n\tmsr s3_0_c12_c12_1, x4\n\tb 9f\n8:\tstr w4, [x2, #16]\n9:"

/* ---- I/O latency --------------------------------------------------------------------------- */

/* The physical counter: hypervisors give guests a virtual one with an offset. */
#define LATENCY_NOW(to) "dsb sy\n\tisb\n\tmrs " to ", cntpct_el0\n\tisb"
/* x15 = sum, x14 = start, x10 = page, x2 = kick, x4 = yield, x12 = handled, x5 = halts, x11 = old count;
 * end in x16, stamp in x13 */
#define LATENCY_BODY(symbol, before, wait, end, value)                                              \
	TIMED_BODY(                                                                                 \
		symbol,                                                                             \
		"mov x15, #0\n1:\tldp x10, x2, [x1]\n\tldr x4, [x1, #16]\n\tldp x12, "              \
		"x5, [x1, #32]\n\t" before "\n\t" LATENCY_NOW(                                      \
			"x14") "\n\tstrb wzr, "                                                     \
			       "[x2]\n\t" wait "\n\t" end "\n\tldr x13, [x10, #8]\n\tcmp x16, "     \
			       "x13\n\tb.lo 4f\n\tcmp x13, x14\n\tb.lo 4f\n\t" value                \
			       "\n\tadd x15, x15, x13\n\tb 5f\n4:\tldr x6, [x1, #24]\n\tadd x6, "   \
			       "x6, #1\n\tstr x6, [x1, #24]\n5:\tldr x11, [x1, #48]\n7:\tyield\n\t" \
			       "mrs x6, cntpct_el0\n\tsub x6, x6, x14\n\tcmp x6, x11\n\tb.lo "      \
			       "7b\n\tsubs x0, x0, #1\n\tb.ne 1b\n\tmov x0, x15")
#define LATENCY_STAMPED                                                                        \
	"2:\tldr x3, [x10]\n\tcmp x3, x11\n\tb.ne 3f\n\tcbz x4, 2b\n\tyield\n\tb 2b\n3:\tdmb " \
	"ish"
/* Interrupts are enabled while it spins; WFI also wakes for a masked one, which is then unmasked. */
#define LATENCY_BEFORE_INTERRUPT "ldr x11, [x12]\n\tcbnz x5, 2f\n\tmsr daifclr, #2\n2:"
#define LATENCY_INTERRUPTED                                                                   \
	"cbnz x5, 6f\n2:\tldr x3, [x12]\n\tcmp x3, x11\n\tb.ne 3f\n\tcbz x4, 2b\n\tyield\n\t" \
	"b 2b\n6:\tldr x3, [x12]\n\tcmp x3, x11\n\tb.ne 3f\n\tdsb sy\n\twfi\n\tmsr daifclr, " \
	"#2\n\tisb\n\tmsr daifset, #2\n\tb 6b\n3:\tmsr daifset, #2"
#define LATENCY_TO_STAMP    "sub x13, x13, x14"
#define LATENCY_FROM_STAMP  "sub x13, x16, x13"
#define LATENCY_BEFORE	    "ldr x11, [x10]"
#define LATENCY_END	    LATENCY_NOW("x16")
#define LATENCY_END_HANDLED "ldr x16, [x12, #8]"

/* ---- Expected values for checks ------------------------------------------------------------ */

uint64_t cpu_page_table_root(void); /* as set by this guest */
struct root_operand cpu_root_operand(void);
/* Loads another root, and drops the translations of the previous one. */
void cpu_load_root(uint64_t root);
bool cpu_flags_can_be_written(void); /* tried on PSTATE.A */

struct register_operand cpu_vector_base(void); /* as the CPU has it */
struct register_operand cpu_control_register(void);
uint64_t cpu_id_register(void); /* the one that TIMED_READ_ID_REGISTER reads */
uint64_t cpu_cache_type(void);

#endif
