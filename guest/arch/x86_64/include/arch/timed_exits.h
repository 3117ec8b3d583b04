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
/* A bit of a control register, toggled and toggled back. */
#define TIMED_TOGGLE(name, cr, bit)                                                       \
	TIMED_PAIR(name, "mov %" cr ", %rax\n\tmov %rax, %rcx\n\tbtc $" bit ", %rcx", "", \
		   "mov %rcx, %" cr "\n\tmov %rax, %" cr, "")
#define TIMED_TOGGLE_WRITE_PROTECT(name) TIMED_TOGGLE(name, "cr0", "16")
#define TIMED_TOGGLE_GLOBAL(name)	 TIMED_TOGGLE(name, "cr4", "7")
/* Four bytes from a port. */
#define TIMED_READ_PORT_32(name) \
	TIMED_PAIR(name, "mov (%rsi), %rdx", "", "in %dx, %eax", "mov %rax, 8(%rsi)")

/*
 * An interrupt to this CPU itself, until its handler has run: enabled by STI, waited for by HLT, masked by
 * the task priority until that falls, or not ended by its handler (ended afterwards, not timed). operand:
 * struct completion_operand.
 */
#define SEND_TO_SELF                                                                        \
	"mov 32(%rsi), %r10\n\tmov (%r10), %r11\n\tmov 8(%rsi), %eax\n\tmov 16(%rsi), "     \
	"%edx\n\tcmpl $0, (%rsi)\n\tje 2f\n\tmov $0x830, %ecx\n\twrmsr\n\tjmp 3f\n2:\tmov " \
	"24(%rsi), %rcx\n\tmov %edx, 0x310(%rcx)\n\tmov %eax, 0x300(%rcx)\n3:\t"
/* It arrives at once unless it is emulated: a bounded wait. */
#define UNTIL_TAKEN \
	"mov $10000, %ecx\n4:\tcmp (%r10), %r11\n\tjne 5f\n\tdec %ecx\n\tjnz 4b\n5:\tcli"
#define TIMED_SELF_IPI(name)	    TIMED_EACH(name, SEND_TO_SELF "sti\n\t" UNTIL_TAKEN, "")
#define TIMED_SELF_IPI_HALTED(name) TIMED_EACH(name, SEND_TO_SELF "sti\n\thlt\n\tcli", "")
#define PRIORITY(level)		    "mov $" level ", %eax\n\tmov %rax, %cr8\n\t"
#define TIMED_SELF_IPI_PRIORITY(name) \
	TIMED_EACH(name, "sti\n\t" PRIORITY("15") SEND_TO_SELF PRIORITY("0") UNTIL_TAKEN, "")
#define TIMED_SELF_IPI_NO_EOI(name)                                           \
	TIMED_EACH_BODY(#name "_run", "", SEND_TO_SELF "sti\n\t" UNTIL_TAKEN, \
			COMPLETION_FROM_OPERAND "\n\t" OP_COMPLETION);        \
	TIMED_EACH_BODY(#name "_control", "", "", "");                        \
	TIMED_DECLARE(name)

/* The APIC's timer in TSC deadline mode, `ticks` from now, until its handler has counted. */
struct deadline_operand {
	uint64_t ticks;
	volatile uint64_t *count;
};
#define TIMED_DEADLINE(name)                                                                       \
	TIMED_EACH(name,                                                                           \
		   "mov 8(%rsi), %r10\n\tmov (%r10), %r11\n\tsti\n\trdtsc\n\tadd (%rsi), %eax\n\t" \
		   "adc $0, %edx\n\tmov $0x6e0, %ecx\n\twrmsr\n2:\tcmp (%r10), %r11\n\tje 2b\n\t"  \
		   "cli",                                                                          \
		   "")

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
