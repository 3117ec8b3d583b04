/*
 * Timed loops and their operands for aarch64.
 *
 * They are assembly, so that every compiler generates the same instructions, and take all addresses from
 * registers, so that their bytes do not depend on their address: a digest of these bytes identifies what
 * was measured (docs/method.md). Each is a pair, NAME_run and NAME_control, the same except for the
 * operation. A loop of few instructions is TIMED_LOOP or TIMED_PAIR in the benchmark's C file; others are in
 * arch/aarch64/loops/, by the macros of arch/timed_macros.S, and C declares them with TIMED_DECLARE.
 *
 * Contract of a loop:  uint64_t NAME_run(uint64_t iterations, void *operand)
 *   in        x0 = iterations, at least 1; x1 = operand
 *   free use  x0 to x16, flags; x17 is the macro's pass counter
 *             (EACH_START: x2 to x13; x0 is the pass counter, x14 to x17 are the macro's)
 *   out       x0: for EACH_START the sum of the operations' ticks, else nothing
 */
#ifndef TIMED_H
#define TIMED_H

#include "timed_shared.h"
#include <arch/timed_offsets.h>

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

/* ---- Operations on registers --------------------------------------------------------------- */

/* The interrupt masks of PSTATE, the equivalent of x86's flags. */
#define OP_PUSHF_POPF "mrs x2, daif\n\tmsr daif, x2"

/* An identification register that hypervisors trap (HCR_EL2.TID3), and one that all levels may read (TID2).
 * operand: struct register_operand; its value is set to the last one read. */
#define TIMED_READ_ID_REGISTER(name) \
	TIMED_PAIR(name, "mov x2, #0", "", "mrs x2, id_aa64pfr0_el1", "str x2, [x1]")
#define TIMED_READ_CACHE_TYPE(name) \
	TIMED_PAIR(name, "mov x2, #0", "", "mrs x2, ctr_el0", "str x2, [x1]")

/*
 * Operations on a register that exists for EL1 and EL2: one loop with the name used at EL1 and at EL2 with
 * E2H, one with the name used at EL2 without it (loops/registers.S).
 */
struct register_operand {
	uint64_t value;	    /* the register's current value; for a read, the last one */
	uint64_t plain_el2; /* 1: EL2 without E2H */
};
TIMED_OFFSET(register_operand, value, REGISTER_VALUE);
TIMED_OFFSET(register_operand, plain_el2, REGISTER_PLAIN_EL2);

/* The page-table root. */
struct root_operand {
	uint64_t root; /* current value */
	uint64_t plain_el2;
};
TIMED_OFFSET(root_operand, root, REGISTER_VALUE);
TIMED_OFFSET(root_operand, plain_el2, REGISTER_PLAIN_EL2);

/* ---- Hypercalls ---------------------------------------------------------------------------- */

/*
 * The cheapest hypercall: by the SMC calling convention (Arm DEN 0028), or Xen's. At EL2 it is SMC, because
 * HVC there goes to the guest itself. SMCCC lets a callee change only x0 to x17, and so does Xen.
 */
struct hypercall_operand {
	uint64_t first;	      /* x0: the function's number; Xen: the first argument */
	uint64_t instruction; /* 0: HVC #0; 1: SMC #0; 2: Xen's HVC #0xEA1 */
	uint64_t wanted;      /* expected x0 */
	uint64_t wrong;	      /* passes before the last with another result */
	uint64_t last;	      /* result of the last pass */
	uint64_t number;      /* x16: Xen's hypercall number */
};
TIMED_OFFSET(hypercall_operand, first, HYPERCALL_FIRST);
TIMED_OFFSET(hypercall_operand, instruction, HYPERCALL_INSTRUCTION);
TIMED_OFFSET(hypercall_operand, wanted, HYPERCALL_WANTED);
TIMED_OFFSET(hypercall_operand, wrong, HYPERCALL_WRONG);
TIMED_OFFSET(hypercall_operand, last, HYPERCALL_LAST);
TIMED_OFFSET(hypercall_operand, number, HYPERCALL_NUMBER);

/* ---- Device registers ---------------------------------------------------------------------- */

/* A port is the address of a device register. */
typedef uint64_t io_port;
#include "port_operand.h"
#define BEFORE_PORT   "ldr x2, [x1]\n\tldr w3, [x1, #8]"
#define OP_PORT_IN    "ldrb w3, [x2]"
#define OP_PORT_OUT   "strb w3, [x2]"
#define AFTER_PORT_IN "str w3, [x1, #8]"

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
TIMED_OFFSET(ipi_operand, gicv3, IPI_GICV3);
TIMED_OFFSET(ipi_operand, command, IPI_COMMAND);
TIMED_OFFSET(ipi_operand, sgir, IPI_SGIR);
TIMED_OFFSET(ipi_operand, received, IPI_RECEIVED);
TIMED_OFFSET(ipi_operand, ready, IPI_READY);
TIMED_OFFSET(ipi_operand, yield, IPI_YIELD);
TIMED_OFFSET(ipi_operand, settle_passes, IPI_SETTLE_PASSES);

/*
 * An access to a register of the interrupt controller that hypervisors emulate: a read of GICD_IIDR, which
 * identifies the distributor's implementer. kvm-unit-tests reads it too (mmio_read_vgic).
 */
struct controller_operand {
	uint64_t address;
	uint64_t value;	 /* last read */
	uint64_t wanted; /* expected value */
};
TIMED_OFFSET(controller_operand, address, CONTROLLER_ADDRESS);
TIMED_OFFSET(controller_operand, value, CONTROLLER_VALUE);

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
TIMED_OFFSET(completion_operand, cpu_interface, COMPLETION_CPU_INTERFACE);
TIMED_OFFSET(completion_operand, command, COMPLETION_COMMAND);
TIMED_OFFSET(completion_operand, sgir, COMPLETION_SGIR);
TIMED_OFFSET(completion_operand, wanted, COMPLETION_WANTED);
TIMED_OFFSET(completion_operand, missed, COMPLETION_MISSED);
TIMED_OFFSET(completion_operand, acknowledged, COMPLETION_ACKNOWLEDGED);

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
