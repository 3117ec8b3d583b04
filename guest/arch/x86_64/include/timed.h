/*
 * Timed loops, and the operations that go into them, for x86_64.
 *
 * They are assembly, so that every compiler gives the same instructions, and take all addresses
 * from registers, so that their bytes do not depend on where they lie: a digest of them is the
 * identity of what was measured (docs/method.md). Each comes as a pair, NAME_run and
 * NAME_control, the same but for the operation.
 *
 * Contract of a loop:  uint64_t NAME_run(uint64_t iterations, void *operand)
 *   in        rdi = iterations, at least 1; rsi = operand
 *   free use  rax rcx rdx rsi rdi r8 r9 r10, flags; r11 counts down and is the macro's
 *             (TIMED_EACH: rax rcx rdx r10 r11; rdi counts, r8 and r9 are the macro's)
 *   out       rax: of a TIMED_EACH loop the sum of its operations' ticks, else nothing
 */
#ifndef TIMED_H
#define TIMED_H

#include <stdbool.h>
#include <stdint.h>

#include "xen.h"

typedef uint64_t timed_loop(uint64_t iterations, void *operand);

struct timed {
	uint64_t batch_ticks; /* from before the first pass to behind the last */
	uint64_t own_ticks;   /* what the loop returned */
};

/* Times one batch. Assembly (timed_call.S); also sets the markers for the explain plugin. */
struct timed timed_call(timed_loop *loop, uint64_t iterations, void *operand);

#define TIMED_BODY(symbol, body)                                                \
	__asm__(".pushsection .text.timed, \"ax\", @progbits\n"                 \
		".p2align 6\n"                                                  \
		".globl " symbol "\n"                                           \
		".type " symbol ", @function\n" symbol ":\n\t" body "\n\tret\n" \
		".size " symbol ", . - " symbol "\n"                            \
		".popsection\n")

#define TIMED_DECLARE(name)    \
	timed_loop name##_run; \
	timed_loop name##_control

/*
 * A batch of passes, timed as a whole. `before` runs once, `each` in every pass of both loops,
 * `op` in every pass of the run alone, `after` once.
 */
#define TIMED_PAIR(name, before, each, op, after)                                              \
	TIMED_BODY(#name "_run", TIMED_COUNT before "\n1:\t" each "\n\t" op TIMED_NEXT after); \
	TIMED_BODY(#name "_control", TIMED_COUNT before "\n1:\t" each TIMED_NEXT after);       \
	TIMED_DECLARE(name)
#define TIMED_COUNT "mov %rdi, %r11\n\t"
#define TIMED_NEXT  "\n\tdec %r11\n\tjnz 1b\n\t"

/* The plain case: one operation on the memory at the operand. */
#define TIMED_LOOP(name, op) TIMED_PAIR(name, "", "", op, "")

/*
 * Ordered reads of the counter. Intel SDM vol. 2B, RDTSC: MFENCE;LFENCE before it waits until all
 * earlier instructions are done and their loads and stores globally visible; LFENCE behind it
 * keeps later instructions from starting. On AMD LFENCE orders like that when it is set to be
 * dispatch-serializing (MSR C001_1029, bit 1), as every system since 2018 does. CPUID, which Paoloni's
 * often copied recipe uses, is no choice here: it exits to the hypervisor.
 */
#define TIMED_NOW "mfence\n\tlfence\n\trdtsc\n\tlfence\n\tshl $32, %rdx\n\tor %rdx, %rax"

/*
 * Passes timed one by one and added up, for operations that need a settling time between them
 * (`settle`, in both loops, not timed). Leaves r8 and r9 alone; rax, rcx, rdx, r10, r11 are free.
 */
#define TIMED_EACH_BODY(symbol, op, settle)                                             \
	TIMED_BODY(symbol, "xor %r8d, %r8d\n"                                           \
			   "1:\t" TIMED_NOW "\n\tmov %rax, %r9\n\t" op "\n\t" TIMED_NOW \
			   "\n\tsub %r9, %rax\n\tadd %rax, %r8\n\t" settle              \
			   "\n\tdec %rdi\n\tjnz 1b\n\tmov %r8, %rax")
#define TIMED_EACH(name, op, settle)                   \
	TIMED_EACH_BODY(#name "_run", op, settle);     \
	TIMED_EACH_BODY(#name "_control", "", settle); \
	TIMED_DECLARE(name)

/* ---- Operations on the memory at the operand ----------------------------------------------- */

/* Descriptor-table registers as SGDT and LGDT see them in memory (SDM vol. 3A, 3.5.1). */
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

/* The page-table root. operand: uint64_t, its present value. */
#define BEFORE_SET_ROOT "mov (%rsi), %rax"
#define OP_SET_ROOT	"mov %rax, %cr3"

/* The CPU's identification, leaf 0. rbx is the caller's: kept in r8. */
struct cpuid_operand {
	char vendor[13]; /* in the order EBX, EDX, ECX, and a NUL */
};
#define BEFORE_CPUID "mov %rbx, %r8"
#define EACH_CPUID   "xor %eax, %eax\n\txor %ecx, %ecx"
#define OP_CPUID     "cpuid"
#define AFTER_CPUID  "mov %ebx, (%rsi)\n\tmov %edx, 4(%rsi)\n\tmov %ecx, 8(%rsi)\n\tmov %r8, %rbx"

/*
 * One hypercall that does next to nothing. The choice of the vendor's instruction costs one jump
 * (VMCALL) or two (VMMCALL) of the figure.
 */
struct hypercall_operand {
	uint64_t number; /* rax */
	uint64_t amd;	 /* 1: VMMCALL (AMD, Hygon); 0: VMCALL (Intel, Zhaoxin) */
	uint64_t wanted; /* rax afterwards */
	uint64_t wrong;	 /* passes before the last that gave something else */
	uint64_t last;	 /* what the last pass gave */
};
/* r8 = operand, r9 = amd, r10 = number, rcx = wanted. rdi and rsi are Xen's first arguments: 0 is
 * XENVER_version. KVM's are in rbx, rcx, rdx, rsi, and mean nothing to an unknown number. */
#define BEFORE_HYPERCALL                                                               \
	"mov %rsi, %r8\n\tmov (%r8), %r10\n\tmov 8(%r8), %r9\n\tmov 16(%r8), %rcx\n\t" \
	"mov %rcx, %rax\n\txor %edx, %edx"
#define EACH_HYPERCALL                                                                             \
	"cmp %rcx, %rax\n\tsetne %dl\n\tadd %rdx, 24(%r8)\n\txor %edi, %edi\n\txor %esi, %esi\n\t" \
	"mov %r10, %rax\n\ttest %r9, %r9"
#define OP_HYPERCALL	"jz 2f\n\tvmmcall\n\tjmp 3f\n2:\tvmcall\n3:"
#define AFTER_HYPERCALL "mov %rax, 32(%r8)"

/* Port I/O. */
struct port_operand {
	uint32_t port;
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

/* Reads that walk over a range of memory. */
struct walk_operand {
	uint64_t at; /* the address that the next pass reads */
	uint64_t start, end;
	uint64_t stride_bytes;
	uint64_t value; /* last read */
};
#define BEFORE_WALK \
	"mov (%rsi), %rax\n\tmov 8(%rsi), %rcx\n\tmov 16(%rsi), %rdx\n\tmov 24(%rsi), %r8"
/* The cursor moves on first and wraps, so that the operation itself is one load. */
#define EACH_WALK    "add %r8, %rax\n\tcmp %rdx, %rax\n\tcmovae %rcx, %rax"
#define OP_WALK_READ "mov (%rax), %r9"
#define AFTER_WALK   "mov %rax, (%rsi)\n\tmov %r9, 32(%rsi)"

/*
 * Set Page Table: writes one entry, walking from the root and hanging in a table where there is
 * none yet, as an operating system does that maps memory. Tables come from a pool of zeroed pages.
 */
struct set_pt_operand {
	uint64_t root;	     /* virtual = physical address of the top table */
	uint64_t va;	     /* the next address to map */
	uint64_t pa, pa_end; /* what to map it to: goes round in [pa_start, pa_end) */
	uint64_t pa_start;
	uint64_t pool, pool_end; /* the next free table, and where there are no more */
	uint64_t failed;	 /* passes that found the pool empty */
};
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
 * IPI: sends one interrupt to another CPU and waits until its handler has counted it.
 * With `yield` the waiting loop has a PAUSE, which lets an emulator that runs all CPUs on one
 * thread turn to the receiver; on hardware there is none, because many in a row exit to the
 * hypervisor (pause-loop exiting).
 */
struct ipi_operand {
	uint64_t x2apic;	     /* 1: MSR 0x830; 0: memory-mapped registers */
	uint64_t icr_low, icr_high;  /* as the interface in use wants them */
	volatile uint32_t *apic;     /* memory-mapped registers */
	volatile uint64_t *received; /* the receivers' count */
	volatile uint64_t *ready;    /* 1 while the receiver stands in its resting loop */
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

/* Fills an operand for interrupts to `cpu`, which rests. False: no such CPU runs. */
struct bench_run;
bool ipi_operand_fill(struct ipi_operand *operand, unsigned cpu, bool yield);

/* Xen's event channels: sends an event, and waits for one. */
struct event_channel_operand {
	uint64_t amd;		    /* 1: VMMCALL; 0: VMCALL */
	const void *send;	    /* EVTCHNOP_send's argument: the port */
	const void *poll;	    /* SCHEDOP_poll's */
	volatile uint64_t *pending; /* the word of shared_info with the bit below */
	uint64_t bit;		    /* pending when an event has come */
	uint64_t events;	    /* how many came */
	uint64_t waits;		    /* how often there was none yet, and the CPU was given up */
	uint32_t port;
	struct xen_poll poll_argument;
};
/* r8 = operand, r9 = amd, rcx = pending, r10 = bit, rdx = events. A call with two arguments changes
 * rax, and in debug builds of Xen rdi and rsi. */
#define BEFORE_EVENT                                                                    \
	"mov %rsi, %r8\n\tmov (%r8), %r9\n\tmov 24(%r8), %rcx\n\tmov 32(%r8), %r10\n\t" \
	"mov 40(%r8), %rdx"
#define AFTER_EVENT   "mov %rdx, 40(%r8)"
/* xen.h's XEN_EVENT_CHANNEL_OP, XEN_EVENT_SEND; XEN_SCHED_OP, XEN_SCHED_POLL */
#define EVENT_CALL    "\n\ttest %r9, %r9\n\tjz 2f\n\tvmmcall\n\tjmp 3f\n2:\tvmcall\n3:\t"
#define OP_EVENT_SEND "mov $32, %eax\n\tmov $4, %edi\n\tmov 8(%r8), %rsi" EVENT_CALL
#define EVENT_POLL    "mov $29, %eax\n\tmov $3, %edi\n\tmov 16(%r8), %rsi" EVENT_CALL
#define OP_EVENT_ROUND                                                                      \
	OP_EVENT_SEND "\n4:\tlock btr %r10, (%rcx)\n\tjc 5f\n\tincq 48(%r8)\n\t" EVENT_POLL \
		      "jmp 4b\n5:\tinc %rdx"
/* Takes an event that has come, with what tells this CPU of it (struct vcpu_info: the byte
 * evtchn_upcall_pending, the word evtchn_pending_sel), so that each send does all of its work. */
#define EACH_EVENT_TAKE \
	"lock btr %r10, (%rcx)\n\tadc $0, %rdx\n\tmovb $0, -2048(%rcx)\n\tmovq $0, -2040(%rcx)"

/* Fills an operand for the channel at `port`. False: Xen gives no shared information page. */
bool event_channel_fill(struct event_channel_operand *operand, uint32_t port);
/* ... for a new channel from this domain to itself. False: Xen refuses one. */
bool event_channel_loop_back(struct event_channel_operand *operand);
/* Does somebody answer an event? Sends one, and waits a bounded time. */
bool event_channel_answers(struct event_channel_operand *operand);

/* ---- What checks compare with -------------------------------------------------------------- */

struct table_register cpu_gdtr(void); /* as this guest set it, not as read back */
struct table_register cpu_idtr(void);
uint16_t cpu_ldt_selector(void); /* of the LDT that cpu_load_ldt() loads */
void cpu_load_ldt(void);
void cpu_unload_ldt(void);
uint64_t cpu_msw(void);
uint64_t cpu_page_table_root(void); /* as this guest set it */
/* Does an address show other memory when another root is loaded? The guest's own is back then. */
bool root_load_takes_effect(void);
bool cpu_flags_can_be_written(void); /* POPF changes, PUSHF shows: tried on EFLAGS.ID */
bool cpu_is_amd(void);

#endif
