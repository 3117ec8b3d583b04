/*
 * Timed loops and their operations for x86_64.
 *
 * They are assembly, so that every compiler generates the same instructions, and take all addresses from
 * registers, so that their bytes do not depend on their address: a digest of these bytes identifies what
 * was measured (docs/method.md). Each is a pair, NAME_run and NAME_control, the same except for the
 * operation.
 *
 * Contract of a loop:  uint64_t NAME_run(uint64_t iterations, void *operand)
 *   in        rdi = iterations, at least 1; rsi = operand
 *   free use  rax rcx rdx rsi rdi r8 r9 r10, flags; r11 is the macro's pass counter
 *             (TIMED_EACH: rax rcx rdx r10 r11; rdi is the pass counter, r8 and r9 are the macro's)
 *   out       rax: for TIMED_EACH the sum of the operations' ticks, else nothing
 */
#ifndef TIMED_H
#define TIMED_H

#include "timed_shared.h"

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

/* The simple case: one operation on the memory at the operand. */
#define TIMED_LOOP(name, op) TIMED_PAIR(name, "", "", op, "")

/*
 * Ordered reads of the counter. Intel SDM vol. 2B, RDTSC: MFENCE;LFENCE before it waits until all earlier
 * instructions have completed and their loads and stores are globally visible; LFENCE after it keeps later
 * instructions from starting. On AMD, LFENCE orders like that if it is dispatch-serializing (MSR C001_1029,
 * bit 1), which every system since 2018 sets, as does lfence.c without a hypervisor. CPUID, used by
 * Paoloni's often copied recipe, is no option: it exits to the hypervisor.
 */
#define TIMED_NOW "mfence\n\tlfence\n\trdtsc\n\tlfence\n\tshl $32, %rdx\n\tor %rdx, %rax"

/*
 * Passes timed one by one and summed, for operations that need a settling time in between (`settle`: in
 * both loops, not timed). Keeps r8 and r9 for itself; rax, rcx, rdx, r10, r11 are free.
 */
#define TIMED_EACH_BODY(symbol, before, timed, after)                                      \
	TIMED_BODY(symbol, "xor %r8d, %r8d\n"                                              \
			   "1:\t" before "\n\t" TIMED_NOW "\n\tmov %rax, %r9\n\t" timed    \
			   "\n\t" TIMED_NOW "\n\tsub %r9, %rax\n\tadd %rax, %r8\n\t" after \
			   "\n\tdec %rdi\n\tjnz 1b\n\tmov %r8, %rax")
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

/* ---- Operations with registers loaded once ------------------------------------------------- */

/* The page-table root. */
struct root_operand {
	uint64_t root; /* current value */
};
#define TIMED_SET_ROOT(name) TIMED_PAIR(name, "mov (%rsi), %rax", "", "mov %rax, %cr3", "")

/* The CPU's identification, leaf 0. rbx is callee-saved: kept in r8. */
struct cpuid_operand {
	char vendor[13]; /* EBX, EDX, ECX, and a NUL */
};
#define BEFORE_CPUID	  "mov %rbx, %r8"
#define EACH_CPUID	  "xor %eax, %eax\n\txor %ecx, %ecx"
#define OP_CPUID	  "cpuid"
#define AFTER_CPUID	  "mov %ebx, (%rsi)\n\tmov %edx, 4(%rsi)\n\tmov %ecx, 8(%rsi)\n\tmov %r8, %rbx"
#define TIMED_CPUID(name) TIMED_PAIR(name, BEFORE_CPUID, EACH_CPUID, OP_CPUID, AFTER_CPUID)

/*
 * The cheapest hypercall. Selecting the vendor's instruction adds one jump (VMCALL) or two (VMMCALL) to the
 * figure.
 */
struct hypercall_operand {
	uint64_t number; /* rax */
	uint64_t amd;	 /* 1: VMMCALL (AMD, Hygon); 0: VMCALL (Intel, Zhaoxin) */
	uint64_t wanted; /* expected rax */
	uint64_t wrong;	 /* passes before the last with another result */
	uint64_t last;	 /* result of the last pass */
};
/* r8 = operand, r9 = amd, r10 = number, rcx = wanted. Xen's first arguments are rdi and rsi: 0 is
 * XENVER_version. KVM's are rbx, rcx, rdx, rsi, and are ignored for an unknown number. */
#define BEFORE_HYPERCALL                                                               \
	"mov %rsi, %r8\n\tmov (%r8), %r10\n\tmov 8(%r8), %r9\n\tmov 16(%r8), %rcx\n\t" \
	"mov %rcx, %rax\n\txor %edx, %edx"
#define EACH_HYPERCALL                                                                             \
	"cmp %rcx, %rax\n\tsetne %dl\n\tadd %rdx, 24(%r8)\n\txor %edi, %edi\n\txor %esi, %esi\n\t" \
	"mov %r10, %rax\n\ttest %r9, %r9"
#define OP_HYPERCALL	"jz 2f\n\tvmmcall\n\tjmp 3f\n2:\tvmcall\n3:"
#define AFTER_HYPERCALL "mov %rax, 32(%r8)"
#define TIMED_HYPERCALL(name) \
	TIMED_PAIR(name, BEFORE_HYPERCALL, EACH_HYPERCALL, OP_HYPERCALL, AFTER_HYPERCALL)

/* Port I/O. */
typedef uint32_t io_port;
struct port_operand {
	io_port port;
	uint32_t value;	    /* written, or last read */
	const char *string; /* for OP_PORT_STRING */
	uint64_t bytes;
};
#define BEFORE_PORT    "mov (%rsi), %edx\n\tmov 4(%rsi), %eax"
#define OP_PORT_IN     "in %dx, %al"
#define OP_PORT_OUT    "out %al, %dx"
#define AFTER_PORT_IN  "movzbl %al, %eax\n\tmov %eax, 4(%rsi)"
#define BEFORE_STRING  "mov (%rsi), %edx\n\tmov 8(%rsi), %r8\n\tmov 16(%rsi), %r9"
#define EACH_STRING    "mov %r8, %rsi\n\tmov %r9, %rcx"
#define OP_PORT_STRING "rep outsb"

#define BEFORE_WALK \
	"mov (%rsi), %rax\n\tmov 8(%rsi), %rcx\n\tmov 16(%rsi), %rdx\n\tmov 24(%rsi), %r8"
/*
 * The cursor is incremented first and wraps, so that the operation itself is one load. The previous load's
 * value is reduced to 0, in a way that the CPU cannot predict, and added: each load waits for the one
 * before, so page-table walks do not overlap.
 */
#define EACH_WALK \
	"and $0, %r9\n\tadd %r9, %rax\n\tadd %r8, %rax\n\tcmp %rdx, %rax\n\tcmovae %rcx, %rax"
#define OP_WALK_READ "mov (%rax), %r9"
#define AFTER_WALK   "mov %rax, (%rsi)\n\tmov %r9, 32(%rsi)"

#define PTE_TABLE     "7"    /* present, writable, user */
#define PTE_PAGE_4K   "0x3"  /* present, writable */
#define PTE_PAGE_2M   "0x83" /* ... and page size */
/* r8 = root, r9 = va, r10 = pa; rcx = table, rax = slot, rdx = scratch */
#define BEFORE_SET_PT "mov (%rsi), %r8\n\tmov 8(%rsi), %r9\n\tmov 16(%rsi), %r10"
#define EACH_SET_PT(bytes)                                                      \
	"add $" bytes ", %r9\n\tadd $" bytes ", %r10\n\tcmp 24(%rsi), %r10\n\t" \
	"cmovae 32(%rsi), %r10"
#define SET_PT_LEVEL(shift)                                                                      \
	"mov %r9, %rax\n\tshr $" shift ", %rax\n\tand $511, %eax\n\tlea (%rcx,%rax,8), %rax\n\t" \
	"mov (%rax), %rcx\n\ttest $1, %cl\n\tjnz 2f\n\t"                                         \
	"mov 40(%rsi), %rcx\n\tcmp 48(%rsi), %rcx\n\tjae 8f\n\taddq $4096, 40(%rsi)\n\t"         \
	"or $" PTE_TABLE ", %rcx\n\tmov %rcx, (%rax)\n"                                          \
	"2:\tmovabs $0x000ffffffffff000, %rdx\n\tand %rdx, %rcx\n\t"
#define SET_PT_LEAF(shift, bits)                                                                  \
	"mov %r9, %rax\n\tshr $" shift ", %rax\n\tand $511, %eax\n\tlea " bits "(%r10), %rdx\n\t" \
	"mov %rdx, (%rcx,%rax,8)\n\tjmp 9f\n8:\tincq 56(%rsi)\n9:"
#define OP_SET_PT_4K                                                                 \
	"mov %r8, %rcx\n\t" SET_PT_LEVEL("39") SET_PT_LEVEL("30") SET_PT_LEVEL("21") \
		SET_PT_LEAF("12", PTE_PAGE_4K)
#define OP_SET_PT_2M \
	"mov %r8, %rcx\n\t" SET_PT_LEVEL("39") SET_PT_LEVEL("30") SET_PT_LEAF("21", PTE_PAGE_2M)
#define AFTER_SET_PT "mov %r9, 8(%rsi)\n\tmov %r10, 16(%rsi)"

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
/* r8 = entry, r9 = va, r10 = value, rcx = change, rdx = sum */
#define BEFORE_REMAP                                                    \
	"mov (%rsi), %r8\n\tmov 8(%rsi), %r9\n\tmov 16(%rsi), %r10\n\t" \
	"mov 24(%rsi), %rcx\n\tmov 32(%rsi), %rdx"
#define EACH_REMAP  "xor %rcx, %r10"
#define OP_REMAP    "mov %r10, (%r8)\n\tinvlpg (%r9)\n\tadd (%r9), %rdx"
#define AFTER_REMAP "mov %r10, 16(%rsi)\n\tmov %rdx, 32(%rsi)"

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
#define OP_IPI                                                                       \
	"mov 32(%rsi), %r10\n\tmov (%r10), %r11\n\t"                                 \
	"mov 8(%rsi), %eax\n\tmov 16(%rsi), %edx\n\tcmpl $0, (%rsi)\n\tje 2f\n\t"    \
	"mov $0x830, %ecx\n\twrmsr\n\tjmp 3f\n"                                      \
	"2:\tmov 24(%rsi), %rcx\n\tmov %edx, 0x310(%rcx)\n\tmov %eax, 0x300(%rcx)\n" \
	"3:\tcmp (%r10), %r11\n\tjne 5f\n\tcmpl $0, 48(%rsi)\n\tje 3b\n\tpause\n\tjmp 3b\n5:"
#define SETTLE_IPI                                                      \
	"mov 40(%rsi), %r10\n6:\tpause\n\tcmpq $0, (%r10)\n\tje 6b\n\t" \
	"mov 56(%rsi), %r11\n7:\tpause\n\tdec %r11\n\tjnz 7b"

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
#define CONTROLLER_BODY(symbol, memory, msr)                                                      \
	TIMED_BODY(symbol, TIMED_COUNT                                                            \
		   "mov 8(%rsi), %r8\n\tmov $0x83e, %ecx\n\tmov 16(%rsi), %rax\n\txor %edx, %edx" \
		   "\n\tcmpl $0, (%rsi)\n\tjne 2f\n1:\t" memory TIMED_NEXT                        \
		   "mov (%r8), %eax\n\tjmp 9f\n2:\t" msr                                          \
		   "\n\tdec %r11\n\tjnz 2b\n\trdmsr\n9:\tmov %eax, %eax\n\tmov %rax, 24(%rsi)")
#define TIMED_CONTROLLER_ACCESS(name)                              \
	CONTROLLER_BODY(#name "_run", "mov %eax, (%r8)", "wrmsr"); \
	CONTROLLER_BODY(#name "_control", "", "");                 \
	TIMED_DECLARE(name)

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
/* r10 = taken, r11 = its old value. A self-IPI arrives within a few instructions unless it is emulated: a
 * bounded wait. */
#define BEFORE_COMPLETION                                                                 \
	"mov 32(%rsi), %r10\n\tmov (%r10), %r11\n\tsti\n\tmov 8(%rsi), %eax\n\t"          \
	"mov 16(%rsi), %edx\n\tcmpl $0, (%rsi)\n\tje 2f\n\tmov $0x830, %ecx\n\twrmsr\n\t" \
	"jmp 3f\n2:\tmov 24(%rsi), %rcx\n\tmov %edx, 0x310(%rcx)\n\tmov %eax, "           \
	"0x300(%rcx)\n3:\tmov $10000, %ecx\n4:\tcmp (%r10), %r11\n\tjne 5f\n\tdec "       \
	"%ecx\n\tjnz 4b\n\tincq 40(%rsi)\n5:\tcli\n\tmov 24(%rsi), %r10"
#define COMPLETION_FROM_OPERAND "mov 24(%rsi), %r10"
#define OP_COMPLETION                                                                          \
	"cmpl $0, (%rsi)\n\tje 6f\n\tmov $0x80b, %ecx\n\txor %eax, %eax\n\txor %edx, %edx\n\t" \
	"wrmsr\n\tjmp 7f\n6:\tmovl $0, 0xb0(%r10)\n7:"

/* ---- I/O latency --------------------------------------------------------------------------- */

/* r8 = sum, r9 = start, r10 = page, r11 = old count, rcx = handled; end in rax, stamp in rcx */
#define LATENCY_BODY(symbol, before, wait, end, value)                                             \
	TIMED_BODY(symbol, "xor %r8d, %r8d\n1:\tmov (%rsi), %r10\n\tmov 32(%rsi), %rcx\n\t" before \
			   "\n\t" TIMED_NOW "\n\tmov %rax, %r9\n\tmov 8(%rsi), %edx\n\tout %al, "  \
			   "%dx\n\t" wait "\n\t" end "\n\tmov 8(%r10), %rcx\n\tcmp %rcx, "         \
			   "%rax\n\tjb 4f\n\tcmp %r9, %rcx\n\tjb 4f\n\t" value                     \
			   "\n\tjmp 5f\n4:\tincq 24(%rsi)\n5:\tmov 48(%rsi), "                     \
			   "%r11\n7:\tpause\n\trdtsc\n\tshl $32, %rdx\n\tor %rdx, %rax\n\tsub "    \
			   "%r9, %rax\n\tcmp %r11, %rax\n\tjb 7b\n\tdec %rdi\n\tjnz 1b\n\tmov "    \
			   "%r8, %rax")
#define LATENCY_STAMPED \
	"2:\tcmp (%r10), %r11\n\tjne 3f\n\tcmpl $0, 16(%rsi)\n\tje 2b\n\tpause\n\tjmp 2b\n3:"
/* Interrupts are enabled while it spins; before a halt STI keeps them off until the HLT. */
#define LATENCY_BEFORE_INTERRUPT "mov (%rcx), %r11\n\tcmpl $0, 40(%rsi)\n\tjne 2f\n\tsti\n2:"
#define LATENCY_INTERRUPTED                                                                    \
	"cmpl $0, 40(%rsi)\n\tjne 6f\n2:\tcmp (%rcx), %r11\n\tjne 3f\n\tcmpl $0, 16(%rsi)\n\t" \
	"je 2b\n\tpause\n\tjmp 2b\n6:\tcmp (%rcx), %r11\n\tjne 3f\n\tsti\n\thlt\n\tcli\n\t"    \
	"jmp 6b\n3:\tcli"
#define LATENCY_TO_STAMP    "sub %r9, %rcx\n\tadd %rcx, %r8"
#define LATENCY_FROM_STAMP  "sub %rcx, %rax\n\tadd %rax, %r8"
#define LATENCY_BEFORE	    "mov (%r10), %r11"
#define LATENCY_END	    TIMED_NOW
#define LATENCY_END_HANDLED "mov 8(%rcx), %rax"

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
