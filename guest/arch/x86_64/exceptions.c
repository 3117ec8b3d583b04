/* Passes exceptions to the innermost try_call(), else to core/. The entry points are in assembly. */
#include <arch/cpu.h>
#include "guest/core/smp.h"
#include "guest/core/try_frame.h"
#include <arch/tables.h>

#define PAGE_FAULT 14

/* The frame that exceptions.S pushes. */
struct exception_frame {
	uint64_t vector, error, ip, cs, flags, sp, ss;
};

_Noreturn void exception_taken(const struct exception_frame *frame);

static const char *exception_name(uint64_t vector)
{
	static const char *const names[32] = {
		"#DE", "#DB", "NMI", "#BP", "#OF", "#BR", "#UD", "#NM", "#DF", "9",   "#TS",
		"#NP", "#SS", "#GP", "#PF", "15",  "#MF", "#AC", "#MC", "#XM", "#VE", "#CP",
		"22",  "23",  "24",  "25",  "26",  "27",  "#HV", "#VC", "#SX", "31",
	};

	return vector < 32 ? names[vector] : "?";
}

_Noreturn void exception_taken(const struct exception_frame *frame)
{
	struct fault fault = {
		.vector = (unsigned)frame->vector,
		.name = exception_name(frame->vector),
		.error = frame->error,
		.address = frame->vector == PAGE_FAULT ? read_cr2() : 0,
		.ip = frame->ip,
	};
	unsigned number = cpu_self()->number;

	if (number) {
		/* This CPU must not write records: print text; the row that used this CPU times out. */
		console_printf("CPU %u: %s at %lx\n", number, fault.name, fault.ip);
		for (;;)
			__asm__ volatile("cli; hlt");
	}
	if (innermost) {
		*innermost->fault = fault;
		try_leave(innermost);
	}
	fault_outside(&fault);
}
