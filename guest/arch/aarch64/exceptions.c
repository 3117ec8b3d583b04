/* Passes exceptions to the innermost try_call(), else to core/. The entry points are in assembly. */
#include <arch/exceptions.h>
#include <arch/cpu.h>
#include "guest/arch/aarch64/machine.h"
#include "guest/core/smp.h"
#include "guest/core/try_frame.h"

#define ESR_CLASS_SHIFT 26
/* Vectors in fault records: the exception class of a synchronous one (0 to 63), then the others. */
#define VECTOR_OTHERS	64
/* Gives up after so many exceptions while reporting one. */
#define MAX_NESTED	3

_Noreturn void exception_taken(uint64_t kind);

static unsigned nested;

/* DDI 0487, ESR_EL1.EC. */
static const char *const class_names[64] = {
	[0x00] = "undefined",
	[0x01] = "wfi",
	[0x07] = "fp",
	[0x0e] = "illegal-state",
	[0x15] = "svc",
	[0x16] = "hvc",
	[0x17] = "smc",
	[0x18] = "system-register",
	[0x20] = "instruction-abort",
	[0x21] = "instruction-abort",
	[0x22] = "pc-alignment",
	[0x24] = "data-abort",
	[0x25] = "data-abort",
	[0x26] = "sp-alignment",
	[0x3c] = "brk",
};

static struct fault describe(uint64_t kind)
{
	static const char *const others[] = { "fiq", "serror", "unexpected" };
	uint64_t syndrome = READ_OWN(esr);
	struct fault fault = {
		.vector = (unsigned)(VECTOR_OTHERS + kind - EXCEPTION_FIQ),
		.error = syndrome,
		.ip = READ_OWN(elr),
	};

	if (kind != EXCEPTION_SYNCHRONOUS) {
		fault.name = others[kind - EXCEPTION_FIQ];
		return fault;
	}
	fault.vector = (unsigned)(syndrome >> ESR_CLASS_SHIFT & 63);
	fault.name = class_names[fault.vector] ? class_names[fault.vector] : "synchronous";
	/* FAR is valid only for aborts and alignment faults. */
	if (fault.vector >= 0x20 && fault.vector <= 0x25)
		fault.address = READ_OWN(far);
	return fault;
}

_Noreturn void exception_taken(uint64_t kind)
{
	struct fault fault = describe(kind);
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
