/* The task priority (CR8), with which a kernel masks interrupts: read, write, and a self-IPI that is masked
 * until the priority falls. Three rows: kvm-unit-tests' mov_from_cr8, mov_to_cr8 and self_ipi_tpr. */
#include "exit_row.h"
#include "latency.h"
#include <arch/timed_exits.h>

TIMED_READ_PRIORITY(cr8_read);
TIMED_WRITE_PRIORITY(cr8_write);
TIMED_DECLARE(self_ipi_priority);

static struct exit_operand operand;
static struct completion_operand interrupt;

static void read_once(void *argument)
{
	cr8_read_run(1, argument);
}

static const char *needs(const struct params *params)
{
	struct fault fault;

	(void)params;
	if (try_call(read_once, &operand, &fault))
		return NULL;
	return "reading the task priority (CR8) raises an exception on this machine";
}

/* unit=insns means QEMU, whose SVM aborts (bql_locked) when a write of CR8 lets in an interrupt that the
 * VMCB held for it. Xen injects that way; KVM waits for the exit on CR8. */
static const char *needs_held_back(const struct params *params)
{
	const char *reason = needs(params);

	if (!reason && params->unit == UNIT_INSNS && params->hypercall == HYPERCALL_XEN)
		return "QEMU dies where CR8's fall lets in an interrupt that Xen holds back";
	return reason;
}

static bool init(struct bench_run *run)
{
	operand.value = 0;
	run->operand = &operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	cr8_read_run(1, &operand);
	bench_note(run, "CR8 reads as %lx; only the host can count exits", operand.value);
	return operand.value ? CHECK_FAILED : CHECK_UNPROVEN;
}

static bool init_interrupt(struct bench_run *run)
{
	run->operand = &interrupt;
	run->reason = "there is no interrupt controller that this guest knows";
	latency_handled = (struct latency_handled){ 0 };
	return self_ipi_operand_fill(&interrupt, true);
}

static enum check check_interrupt(struct bench_run *run)
{
	bench_note(run, "%lu sent, %lu came", run->total, latency_handled.count);
	return latency_handled.count == run->total ? CHECK_PROVED : CHECK_FAILED;
}

EXIT_ROW(read, "cr8-read", "exception", "read the task priority (CR8)", "", needs, init, check,
	 cr8_read, 0);
EXIT_ROW(write, "cr8-write", "exception", "write the task priority (CR8)", "", needs, init, check,
	 cr8_write, 0);
EXIT_ROW(self_ipi, "self-ipi-priority", "exception",
	 "interrupt to this CPU itself, held back by the task priority", "", needs_held_back,
	 init_interrupt, check_interrupt, self_ipi_priority, SELF_TIMED);
