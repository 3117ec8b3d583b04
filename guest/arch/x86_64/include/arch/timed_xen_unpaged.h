/*
 * Timed loops that run with paging off (xen_unpaged.S), for operations whose cost under Xen depends on the
 * guest's page tables. The transitions are not timed; the loop returns its own ticks (SELF_TIMED).
 * Operations come from timed.h if they use no 64-bit register.
 *
 * Contract of a loop: as in timed.h; the operations run in 32-bit mode, and there
 *   in        ebp = operand
 *   free use  eax ebx ecx edx esi, flags; edi is the macro's pass counter
 */
#ifndef TIMED_XEN_UNPAGED_H
#define TIMED_XEN_UNPAGED_H

#include <arch/timed_xen.h>

/* The entry of xen_unpaged.S; operands contain its address, as loops take all addresses from them. */
void xen_unpaged(void);

#define UNPAGED_NOW "mfence\n\tlfence\n\trdtsc\n\tlfence\n\t"
#define UNPAGED_BODY(symbol, enter, before, body, after)                         \
	TIMED_BODY(symbol, "lea 9f(%rip), %rax\n\tjmp *" enter                   \
			   "\n\t.code32\n9:\tmov %esi, %ebp\n\t" UNPAGED_NOW     \
			   "push %edx\n\tpush %eax\n\t" before "\n1:\t" body     \
			   "\n\tdec %edi\n\tjnz 1b\n\t" after "\n\t" UNPAGED_NOW \
			   "pop %ecx\n\tpop %ebx\n\tsub %ecx, %eax\n\tsbb %ebx, %edx\n\t.code64")
#define UNPAGED_PAIR(name, enter, before, each, op, after)                \
	UNPAGED_BODY(#name "_run", enter, before, each "\n\t" op, after); \
	UNPAGED_BODY(#name "_control", enter, before, each, after);       \
	TIMED_DECLARE(name)

struct unpaged_operand {
	void (*enter)(void); /* xen_unpaged */
	uint32_t amd;	     /* 1: VMMCALL; 0: VMCALL */
	uint32_t number;     /* of the hypercall, or the port */
	uint32_t value[4];   /* last read; for CPUID the vendor's name, and a NUL */
	uint32_t wanted;     /* expected result of the hypercall */
	uint32_t wrong;	     /* passes before the last with another result */
};
#define UNPAGED_ENTER "(%rsi)"

/* ebx and ecx are Xen's first arguments: 0 is XENVER_version. */
#define UNPAGED_BEFORE_HYPERCALL "mov 32(%ebp), %eax\n\txor %edx, %edx"
#define UNPAGED_EACH_HYPERCALL                                                        \
	"cmp 32(%ebp), %eax\n\tsetne %dl\n\tadd %edx, 36(%ebp)\n\txor %ebx, %ebx\n\t" \
	"xor %ecx, %ecx\n\tmov 12(%ebp), %eax\n\tcmpl $0, 8(%ebp)"
#define TIMED_UNPAGED_HYPERCALL(name)                                                       \
	UNPAGED_PAIR(name, UNPAGED_ENTER, UNPAGED_BEFORE_HYPERCALL, UNPAGED_EACH_HYPERCALL, \
		     OP_HYPERCALL, "mov %eax, 16(%ebp)")
#define TIMED_UNPAGED_CPUID(name)                                   \
	UNPAGED_PAIR(name, UNPAGED_ENTER, "", EACH_CPUID, OP_CPUID, \
		     "mov %ebx, 16(%ebp)\n\tmov %edx, 20(%ebp)\n\tmov %ecx, 24(%ebp)")
#define TIMED_UNPAGED_IN(name)                                                  \
	UNPAGED_PAIR(name, UNPAGED_ENTER, "mov 12(%ebp), %edx", "", OP_PORT_IN, \
		     "movzbl %al, %eax\n\tmov %eax, 16(%ebp)")

/* The round trip of timed_xen.h, using the lower halves of its operand's fields. edx = pending, esi =
 * bit. */
struct unpaged_event_operand {
	struct event_channel_operand channel;
	void (*enter)(void); /* xen_unpaged */
	struct xen_poll_32 poll;
};
#define UNPAGED_ENTER_EVENT  "88(%rsi)"
#define UNPAGED_BEFORE_EVENT "mov 24(%ebp), %edx\n\tmov 32(%ebp), %esi"
#define UNPAGED_EVENT_CALL   "\n\tcmpl $0, (%ebp)\n\tje 2f\n\tvmmcall\n\tjmp 3f\n2:\tvmcall\n3:\t"
#define UNPAGED_EVENT_SEND   "mov $32, %eax\n\tmov $4, %ebx\n\tmov 8(%ebp), %ecx" UNPAGED_EVENT_CALL
#define UNPAGED_EVENT_POLL   "mov $29, %eax\n\tmov $3, %ebx\n\tmov 16(%ebp), %ecx" UNPAGED_EVENT_CALL
#define UNPAGED_EVENT_ROUND                                                            \
	UNPAGED_EVENT_SEND                                                             \
	"\n4:\tlock btr %esi, (%edx)\n\tjc 5f\n\tincl 48(%ebp)\n\t" UNPAGED_EVENT_POLL \
	"jmp 4b\n5:\tincl 40(%ebp)"
#define TIMED_UNPAGED_EVENT_ROUND(name) \
	UNPAGED_PAIR(name, UNPAGED_ENTER_EVENT, UNPAGED_BEFORE_EVENT, "", UNPAGED_EVENT_ROUND, "")

#endif
