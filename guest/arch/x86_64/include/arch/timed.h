/*
 * Timed loops and their operands for x86_64.
 *
 * They are assembly, so that every compiler generates the same instructions, and take all addresses from
 * registers, so that their bytes do not depend on their address: a digest of these bytes identifies what
 * was measured (docs/method.md). Each is a pair, NAME_run and NAME_control, the same except for the
 * operation. A loop of few instructions is TIMED_LOOP or TIMED_PAIR in the benchmark's C file; others are in
 * arch/x86_64/loops/, by the macros of arch/timed_macros.S, and C declares them with TIMED_DECLARE.
 *
 * Contract of a loop:  uint64_t NAME_run(uint64_t iterations, void *operand)
 *   in        rdi = iterations, at least 1; rsi = operand
 *   free use  rax rcx rdx rsi rdi r8 r9 r10, flags; r11 is the macro's pass counter
 *             (EACH_START: rax rcx rdx r10 r11; rdi is the pass counter, r8 and r9 are the macro's)
 *   out       rax: for EACH_START the sum of the operations' ticks, else nothing
 */
#ifndef TIMED_H
#define TIMED_H

#include "timed_shared.h"
#include <arch/timed_offsets.h>

#define TIMED_BODY(symbol, body)                                                \
	__asm__(".pushsection .text.timed, \"ax\", @progbits\n"                 \
		".p2align 6\n"                                                  \
		".globl " symbol "\n"                                           \
		".type " symbol ", @function\n" symbol ":\n\t" body "\n\tret\n" \
		".size " symbol ", . - " symbol "\n"                            \
		".popsection\n")

/* A body that does nothing. */
#define TIMED_NOTHING "xor %eax, %eax"

#define TIMED_COUNT "mov %rdi, %r11\n\t"
#define TIMED_NEXT  "\n\tdec %r11\n\tjnz 1b\n\t"

/* ---- Operations on the memory at the operand ----------------------------------------------- */

/* Descriptor-table registers in memory, as for SGDT and LGDT (SDM vol. 3A, 3.5.1). */
struct table_register {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

#define OP_STORE_GDTR "sgdt (%rsi)"
#define OP_STORE_IDTR "sidt (%rsi)"
#define OP_STORE_LDTR "sldt (%rsi)"
#define OP_STORE_MSW  "smsw (%rsi)"
#define OP_PUSHF_POPF "pushfq\n\tpopfq"
#define OP_LOAD_GDTR  "lgdt (%rsi)"

/* ---- Operands ------------------------------------------------------------------------------ */

/* The page-table root. */
struct root_operand {
	uint64_t root; /* current value */
};
TIMED_OFFSET(root_operand, root, ROOT_ROOT);

/* The CPU's identification, leaf 0. */
struct cpuid_operand {
	char vendor[13]; /* EBX, EDX, ECX, and a NUL */
};
TIMED_OFFSET(cpuid_operand, vendor[0], CPUID_VENDOR_EBX);
TIMED_OFFSET(cpuid_operand, vendor[4], CPUID_VENDOR_EDX);
TIMED_OFFSET(cpuid_operand, vendor[8], CPUID_VENDOR_ECX);

/* The cheapest hypercall. */
struct hypercall_operand {
	uint64_t number; /* rax */
	uint64_t amd;	 /* 1: VMMCALL (AMD, Hygon); 0: VMCALL (Intel, Zhaoxin) */
	uint64_t wanted; /* expected rax */
	uint64_t wrong;	 /* passes before the last with another result */
	uint64_t last;	 /* result of the last pass */
};
TIMED_OFFSET(hypercall_operand, number, HYPERCALL_NUMBER);
TIMED_OFFSET(hypercall_operand, amd, HYPERCALL_AMD);
TIMED_OFFSET(hypercall_operand, wanted, HYPERCALL_WANTED);
TIMED_OFFSET(hypercall_operand, wrong, HYPERCALL_WRONG);
TIMED_OFFSET(hypercall_operand, last, HYPERCALL_LAST);

/* Port I/O. */
typedef uint32_t io_port;
#include "port_operand.h"
#define BEFORE_PORT   "mov (%rsi), %edx\n\tmov 4(%rsi), %eax"
#define OP_PORT_IN    "in %dx, %al"
#define OP_PORT_OUT   "out %al, %dx"
#define AFTER_PORT_IN "movzbl %al, %eax\n\tmov %eax, 4(%rsi)"

/*
 * Remap Page: maps a page alternately to one of two pieces of memory, as an operating system does to move a
 * page: a write to the entry, INVLPG, and a read through the new mapping.
 */
struct remap_operand {
	uint64_t *entry; /* address of the last-level entry */
	uint64_t va;	 /* the address that it maps */
	uint64_t value;	 /* the current entry */
	uint64_t change; /* the two entries, XORed */
	uint64_t sum;	 /* of all values read */
};
TIMED_OFFSET(remap_operand, entry, REMAP_ENTRY);
TIMED_OFFSET(remap_operand, va, REMAP_VA);
TIMED_OFFSET(remap_operand, value, REMAP_VALUE);
TIMED_OFFSET(remap_operand, change, REMAP_CHANGE);
TIMED_OFFSET(remap_operand, sum, REMAP_SUM);

/* Maps the page at va to `first`, and fills an operand that switches between that and `second`. Both are
 * page_bytes long. False: no memory for the tables. */
bool remap_operand_fill(struct remap_operand *operand, uint64_t va, uint64_t first, uint64_t second,
			uint64_t page_bytes);

/*
 * IPI: sends one interrupt to another CPU and waits until its handler has counted it. With `yield` the
 * waiting loop has a PAUSE, which makes an emulator that runs all CPUs on one thread switch to the
 * receiver; not used on hardware, where many PAUSEs in a row exit to the hypervisor (pause-loop exiting).
 */
struct ipi_operand {
	uint64_t x2apic;	     /* 1: MSR 0x830; 0: memory-mapped registers */
	uint64_t icr_low, icr_high;  /* in the format of the interface in use */
	volatile uint32_t *apic;     /* memory-mapped registers */
	volatile uint64_t *received; /* the receivers' count */
	volatile uint64_t *ready;    /* 1 while the receiver is in its waiting loop */
	uint64_t yield;
	uint64_t settle_passes; /* pauses between two IPIs, not timed */
};
TIMED_OFFSET(ipi_operand, x2apic, SEND_X2APIC);
TIMED_OFFSET(ipi_operand, icr_low, SEND_ICR_LOW);
TIMED_OFFSET(ipi_operand, icr_high, SEND_ICR_HIGH);
TIMED_OFFSET(ipi_operand, apic, SEND_APIC);
TIMED_OFFSET(ipi_operand, received, SEND_COUNT);
TIMED_OFFSET(ipi_operand, ready, IPI_READY);
TIMED_OFFSET(ipi_operand, yield, IPI_YIELD);
TIMED_OFFSET(ipi_operand, settle_passes, IPI_SETTLE_PASSES);

/*
 * An access to a register of the interrupt controller that hypervisors emulate in the kernel: a write of
 * the divider of the stopped APIC timer. APIC virtualization leaves it to software, unlike most reads (SDM
 * vol. 3C, "APIC-Write Emulation", and the MSR bitmaps for x2APIC).
 */
struct controller_operand {
	uint64_t x2apic;
	uint64_t address; /* memory-mapped registers */
	uint64_t wanted;  /* to write */
	uint64_t value;	  /* read back after the last pass */
};
TIMED_OFFSET(controller_operand, x2apic, CONTROLLER_X2APIC);
TIMED_OFFSET(controller_operand, address, CONTROLLER_ADDRESS);
TIMED_OFFSET(controller_operand, wanted, CONTROLLER_WANTED);
TIMED_OFFSET(controller_operand, value, CONTROLLER_VALUE);

/*
 * The end of an active interrupt. Each pass first, not timed, sends an interrupt to this CPU and takes it;
 * the handler counts it and does not end it. The control ends it too, not timed.
 */
struct completion_operand {
	uint64_t x2apic;
	uint64_t icr_low, icr_high; /* as for IPIs, to this CPU */
	volatile uint32_t *apic;
	volatile uint64_t *taken; /* the handler's count */
	uint64_t missed;	  /* passes in which none arrived */
};
TIMED_OFFSET(completion_operand, x2apic, SEND_X2APIC);
TIMED_OFFSET(completion_operand, icr_low, SEND_ICR_LOW);
TIMED_OFFSET(completion_operand, icr_high, SEND_ICR_HIGH);
TIMED_OFFSET(completion_operand, apic, SEND_APIC);
TIMED_OFFSET(completion_operand, taken, SEND_COUNT);
TIMED_OFFSET(completion_operand, missed, COMPLETION_MISSED);

/* ---- Expected values for checks ------------------------------------------------------------ */

struct table_register cpu_gdtr(void); /* as set by this guest, not read back */
struct table_register cpu_idtr(void);
uint16_t cpu_ldt_selector(void); /* of the LDT that cpu_load_ldt() loads */
void cpu_load_ldt(void);
void cpu_unload_ldt(void);
uint64_t cpu_msw(void);
uint64_t cpu_page_table_root(void); /* as set by this guest */
struct root_operand cpu_root_operand(void);
/* Loads another root, and drops the translations of the previous one. */
void cpu_load_root(uint64_t root);
bool cpu_flags_can_be_written(void); /* tried on EFLAGS.ID with POPF and PUSHF */
bool cpu_is_amd(void);

#endif
