/* Remote Fence: the SBI call that drops a page's translations on another CPU (TLB shootdown). Two rows, by what
 * the other CPU does. */
#include "ipi_row.h"
#include "shared_phases.h"
#include <arch/timed_exits.h>

static struct hypercall_operand operand, control_operand;

/* Firmware waits for the other CPU without PAUSE (OpenSBI 1.6, lib/sbi/sbi_tlb.c). In the lab CPUs take turns, so
 * that wait would be as long as a turn. */
static const char *needs(const struct params *params)
{
	if (params->unit == UNIT_INSNS && params->hypercall == HYPERCALL_NONE)
		return "without a hypervisor the firmware spins until the other CPU's turn: use "
		       "lab:kvm-riscv";
	return NULL;
}

static bool prepare(struct bench_run *run, enum cpu_rest rest)
{
	bool filled = remote_fence_operand_fill(&operand, IPI_TARGET);

	if (!ipi_row_init(run, filled, rest))
		return false;
	hypercall_run(1, &operand);
	run->reason = "SBI refused the remote fence";
	operand.wanted = operand.last;
	operand.wrong = 0;
	control_operand = operand;
	run->operand = &operand;
	run->control_operand = &control_operand;
	return (int64_t)operand.last >= 0;
}

static bool init_halted(struct bench_run *run)
{
	return prepare(run, CPU_HALTED);
}

static bool init_running(struct bench_run *run)
{
	return prepare(run, CPU_RUNNING);
}

static enum check check(struct bench_run *run)
{
	bench_note(run, "%lu calls, %lu with an error; no instruction shows what the TLB holds",
		   run->total, operand.wrong);
	return operand.wrong ? CHECK_FAILED : CHECK_UNPROVEN;
}

#define FENCE_ROW(id, title, words, prepare)                                                    \
	BENCHMARK_ROW(id, title, "memory", words, "two CPUs", needs, prepare, check, hypercall, \
		      .cpus = 2, .cleanup = ipi_row_cleanup, .min_iterations = 1,               \
		      .max_iterations = 1000, .parameters = 0)

FENCE_ROW(halted, "remote-fence-halted", "drop a page's translations on a halted CPU (SBI)",
	  init_halted);
FENCE_ROW(running, "remote-fence-running", "drop a page's translations on a running CPU (SBI)",
	  init_running);
