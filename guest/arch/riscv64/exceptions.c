/* Passes exceptions to the innermost try_call(), else to core/. The entry point is in assembly. */
#include <arch/cpu.h>
#include "guest/arch/riscv64/machine.h"
#include "guest/core/smp.h"
#include "guest/core/try_frame.h"

/* Vectors in fault records: the cause of an exception (0 to 63), then those of interrupts. */
#define VECTOR_INTERRUPTS 64
#define CAUSE_INTERRUPT	  (1ull << 63)
/* Gives up after so many exceptions while reporting one. */
#define MAX_NESTED	  3

_Noreturn void exception_taken(void);

static unsigned nested;

/* Privileged Architecture, scause. */
static const char *const cause_names[] = {
	[0] = "instruction-misaligned",
	[1] = "instruction-access",
	[2] = "illegal-instruction",
	[3] = "breakpoint",
	[4] = "load-misaligned",
	[5] = "load-access",
	[6] = "store-misaligned",
	[7] = "store-access",
	[8] = "user-call",
	[9] = "supervisor-call",
	[12] = "instruction-page",
	[13] = "load-page",
	[15] = "store-page",
};

static struct fault describe(void)
{
	uint64_t cause = READ_CSR(scause), number = cause & 63;
	struct fault fault = {
		.vector = (unsigned)number,
		.error = cause,
		.ip = READ_CSR(sepc),
		.name = "exception",
	};

	if (cause & CAUSE_INTERRUPT) {
		fault.vector = (unsigned)(VECTOR_INTERRUPTS + number);
		fault.name = "unexpected";
		return fault;
	}
	if (number < sizeof(cause_names) / sizeof(cause_names[0]) && cause_names[number])
		fault.name = cause_names[number];
	fault.address = READ_CSR(stval);
	return fault;
}

_Noreturn void exception_taken(void)
{
	struct fault fault = describe();
	unsigned number = cpu_self()->number;

	if (number) {
		/* This CPU must not write records: print text; the row that used this CPU times out. */
		console_printf("CPU %u: %s at %lx\n", number, fault.name, fault.ip);
		stand_still();
	}
	if (innermost) {
		*innermost->fault = fault;
		try_leave(innermost);
	}
	if (++nested > MAX_NESTED)
		stand_still();
	fault_outside(&fault);
}
