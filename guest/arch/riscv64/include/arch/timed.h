/*
 * Timed loops and their operands for riscv64.
 *
 * They are assembly, so that every compiler generates the same instructions, and take all addresses from
 * registers, so that their bytes do not depend on their address: a digest of these bytes identifies what
 * was measured (docs/method.md). Each is a pair, NAME_run and NAME_control, the same except for the
 * operation. A loop of few instructions is TIMED_LOOP or TIMED_PAIR in the benchmark's C file; others are in
 * arch/riscv64/loops/, by the macros of arch/timed_macros.S, and C declares them with TIMED_DECLARE.
 *
 * Contract of a loop:  uint64_t NAME_run(uint64_t iterations, void *operand)
 *   in        a0 = iterations, at least 1; a1 = operand
 *   free use  a0 to a7, t0 to t5; t6 is the macro's pass counter
 *             (EACH_START: a1 to a7, t0 to t2, t6; a0 is the pass counter, t3 to t5 are the macro's)
 *   out       a0: for EACH_START the sum of the operations' ticks, else nothing
 */
#ifndef TIMED_H
#define TIMED_H

#include "timed_shared.h"
#include <arch/timed_offsets.h>

/* Instructions are not compressed, as assemblers differ in what they compress. */
#define TIMED_BODY(symbol, body)                                                \
	__asm__(".pushsection .timed, \"ax\", %progbits\n"                      \
		".option push\n.option norvc\n"                                 \
		".p2align 6\n"                                                  \
		".globl " symbol "\n"                                           \
		".type " symbol ", %function\n" symbol ":\n\t" body "\n\tret\n" \
		".size " symbol ", . - " symbol "\n"                            \
		".option pop\n"                                                 \
		".popsection\n")

/* A body that does nothing. */
#define TIMED_NOTHING "li a0, 0"

#define TIMED_COUNT "mv t6, a0\n\t"
#define TIMED_NEXT  "\n\taddi t6, t6, -1\n\tbnez t6, 1b\n\t"

/* ---- Operations on registers --------------------------------------------------------------- */

/* The status register with the interrupt mask, the equivalent of x86's flags. */
#define OP_PUSHF_POPF "csrr a2, sstatus\n\tcsrw sstatus, a2"

/* A counter that a hypervisor may keep for itself. operand: struct register_operand; its value is set to the
 * last one read. */
#define TIMED_READ_COUNTER(name) TIMED_PAIR(name, "li a2, 0", "", "csrr a2, cycle", "sd a2, 0(a1)")

struct register_operand {
	uint64_t value; /* the register's current value; for a read, the last one */
};
TIMED_OFFSET(register_operand, value, REGISTER_VALUE);

/* The page-table root, as satp has it. */
struct root_operand {
	uint64_t root; /* current value */
};
TIMED_OFFSET(root_operand, root, REGISTER_VALUE);

/* ---- SBI calls ------------------------------------------------------------------------------- */

/* A call changes a0 and a1 only (SBI specification, chapter 3). */
struct hypercall_operand {
	uint64_t extension, function; /* a7, a6 */
	uint64_t first, second, third, fourth;
	uint64_t wanted; /* expected value, in a1 */
	uint64_t wrong;	 /* passes before the last with another value, or with an error */
	uint64_t last;	 /* value of the last pass; an error instead, if there is one */
};
TIMED_OFFSET(hypercall_operand, extension, CALL_EXTENSION);
TIMED_OFFSET(hypercall_operand, function, CALL_FUNCTION);
TIMED_OFFSET(hypercall_operand, first, CALL_FIRST);
TIMED_OFFSET(hypercall_operand, second, CALL_SECOND);
TIMED_OFFSET(hypercall_operand, third, CALL_THIRD);
TIMED_OFFSET(hypercall_operand, fourth, CALL_FOURTH);
TIMED_OFFSET(hypercall_operand, wanted, CALL_WANTED);
TIMED_OFFSET(hypercall_operand, wrong, CALL_WRONG);
TIMED_OFFSET(hypercall_operand, last, CALL_LAST);

/* ---- Device registers ---------------------------------------------------------------------- */

/* A port is the address of a device register. */
typedef uint64_t io_port;
#include "port_operand.h"
#define BEFORE_PORT   "ld a2, 0(a1)\n\tlw a3, 8(a1)"
#define OP_PORT_IN    "lbu a3, 0(a2)"
#define OP_PORT_OUT   "sb a3, 0(a2)"
#define AFTER_PORT_IN "sw a3, 8(a1)"

/* ---- Interrupts ---------------------------------------------------------------------------- */

/*
 * IPI: sends one interrupt to another CPU by SBI and waits until its handler has counted it. With `yield`
 * the waiting loop has a PAUSE, which makes an emulator that runs all CPUs on one thread switch to the
 * receiver.
 */
struct ipi_operand {
	uint64_t hart;		     /* the receiver's number */
	volatile uint64_t *received; /* the receivers' count */
	volatile uint64_t *ready;    /* 1 while the receiver is in its waiting loop */
	uint64_t yield;
	uint64_t settle_passes; /* PAUSEs between two IPIs, not timed */
};
TIMED_OFFSET(ipi_operand, hart, IPI_HART);
TIMED_OFFSET(ipi_operand, received, IPI_RECEIVED);
TIMED_OFFSET(ipi_operand, ready, IPI_READY);
TIMED_OFFSET(ipi_operand, yield, IPI_YIELD);
TIMED_OFFSET(ipi_operand, settle_passes, IPI_SETTLE_PASSES);

/* An access to a register of the interrupt controller that hypervisors emulate: a read of the APLIC's
 * domaincfg, or of the first priority of a PLIC. */
struct controller_operand {
	uint64_t address;
	uint64_t value;	 /* last read */
	uint64_t wanted; /* expected value */
};
TIMED_OFFSET(controller_operand, address, CONTROLLER_ADDRESS);
TIMED_OFFSET(controller_operand, value, CONTROLLER_VALUE);

/* ---- Expected values for checks ------------------------------------------------------------ */

uint64_t cpu_page_table_root(void); /* as set by this guest */
struct root_operand cpu_root_operand(void);
/* Loads another root, and drops the translations of the previous one. */
void cpu_load_root(uint64_t root);
bool cpu_flags_can_be_written(void); /* tried on sstatus.SUM */

struct register_operand cpu_vector_base(void); /* as the CPU has it */

#endif
