/* x86 operations that may require the hypervisor, and that kvm-unit-tests' `vmexit` also times. The
 * contract is timed.h's. */
#ifndef TIMED_EXITS_H
#define TIMED_EXITS_H

#include <arch/timed.h>

/* An MSR, port or address; and a value: to write, or last read. */
struct exit_operand {
	uint64_t number, value;
};
#define BEFORE_EXIT "mov (%rsi), %rcx\n\tmov 8(%rsi), %eax\n\tmov 12(%rsi), %edx"

#define TIMED_READ_MSR(name) \
	TIMED_PAIR(name, BEFORE_EXIT, "", "rdmsr", "mov %eax, 8(%rsi)\n\tmov %edx, 12(%rsi)")
#define TIMED_WRITE_MSR(name)	   TIMED_PAIR(name, BEFORE_EXIT, "", "wrmsr", "")
#define TIMED_READ_PRIORITY(name)  TIMED_PAIR(name, "", "", "mov %cr8, %rax", "mov %rax, 8(%rsi)")
#define TIMED_WRITE_PRIORITY(name) TIMED_PAIR(name, "mov 8(%rsi), %rax", "", "mov %rax, %cr8", "")
#define TIMED_WRITE_DEBUG(name)	   TIMED_PAIR(name, "mov 8(%rsi), %rax", "", "mov %rax, %dr7", "")
#define TIMED_WRITE_BYTE(name)	   TIMED_PAIR(name, BEFORE_EXIT, "", "mov %al, (%rcx)", "")
/* Four bytes from a port. */
#define TIMED_READ_PORT_32(name) \
	TIMED_PAIR(name, "mov (%rsi), %rdx", "", "in %dx, %eax", "mov %rax, 8(%rsi)")

/* The APIC's timer in TSC deadline mode, `ticks` from now, until its handler has counted. */
struct deadline_operand {
	uint64_t ticks;
	volatile uint64_t *count;
};
TIMED_OFFSET(deadline_operand, ticks, DEADLINE_TICKS);
TIMED_OFFSET(deadline_operand, count, DEADLINE_COUNT);

#define MSR_NUMBER_TSC_ADJUST	  0x3b
#define MSR_NUMBER_KERNEL_GS_BASE 0xc0000102
#define PORT_EDGE_LEVEL		  0x4d0 /* of the 8259s, which KVM emulates in the kernel */

bool cpu_has_tsc_adjust(void);
/* The ACPI timer's port; PORT_NONE: not in the tables. */
uint64_t power_management_timer_port(void);
/* Makes the APIC's timer use the handler that fills latency_handled. False: no TSC deadline mode. */
bool deadline_operand_fill(struct deadline_operand *operand, uint64_t ticks);
/* A self-IPI. `ends`: its handler fills latency_handled and signals end of interrupt; otherwise it is
 * irq-completion's, which does not. */
bool self_ipi_operand_fill(struct completion_operand *operand, bool ends);
extern uint64_t completions_taken; /* count of irq-completion's handler */

#endif
