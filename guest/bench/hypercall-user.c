/* Hypercall User: an SBI call that KVM passes on to the monitor's user space, which answers it. */
#include "exit_row.h"
#include "shared_phases.h"
#include <arch/timed_exits.h>

static struct hypercall_operand operand, control_operand;

static void one(void *argument)
{
	hypercall_run(1, argument);
}

static const char *needs(const struct params *params)
{
	struct fault fault;

	(void)params;
	operand = user_call_operand();
	if (!try_call(one, &operand, &fault) || operand.last != operand.wanted)
		return "it needs our own monitor (vmm), which answers this call: use lab:kvm-riscv";
	return NULL;
}

static bool init(struct bench_run *run)
{
	operand.wrong = 0;
	control_operand = operand;
	run->operand = &operand;
	run->control_operand = &control_operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	bench_note(run, "%lu calls, %lu of them without the monitor's answer", run->total,
		   operand.wrong + (operand.last != operand.wanted));
	return operand.wrong || operand.last != operand.wanted ? CHECK_FAILED : CHECK_PROVED;
}

EXIT_ROW(hypercall_user, "hypercall-user", "exception",
	 "call (SBI) that the monitor's user space answers", "our own monitor", needs, init, check,
	 hypercall, 0);
