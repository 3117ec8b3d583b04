/* Hypercall, CPUID and IN under Xen with the guest's paging off: what they are shorter by than the rows of
 * those names is Xen's walk of the guest's page tables. Three rows; event-channel.c has a fourth. */
#include "exit_row.h"
#include "timed_xen_unpaged.h"

TIMED_UNPAGED_HYPERCALL(hypercall_unpaged);
TIMED_UNPAGED_CPUID(cpuid_unpaged);
TIMED_UNPAGED_IN(in_unpaged);

static struct unpaged_operand operand, control_operand;

static const char *needs(const struct params *params)
{
	return params->hypercall == HYPERCALL_XEN ? NULL
						  : "what it shows is Xen's: hypercall=xen says "
						    "where it answers";
}

static const char *needs_port(const struct params *params)
{
	const char *reason = needs(params);

	return !reason && params->in_port == PORT_NONE
		       ? "no device register is known here: give in="
		       : reason;
}

static bool prepare(struct bench_run *run, uint64_t number)
{
	operand = (struct unpaged_operand){
		.enter = xen_unpaged,
		.amd = cpu_is_amd(),
		.number = (uint32_t)number,
	};
	run->operand = &operand;
	control_operand = operand;
	run->control_operand = &control_operand;
	return true;
}

/* Its answer is the one that 64-bit code gets too. */
static bool init_hypercall(struct bench_run *run)
{
	int64_t version = xen_call(XEN_VERSION_OP, 0, NULL);

	prepare(run, XEN_VERSION_OP);
	operand.wanted = control_operand.wanted = (uint32_t)version;
	if (version <= 0 || version >> 32)
		run->reason = "the hypervisor answered xen_version with an error";
	return !run->reason;
}

static bool init_cpuid(struct bench_run *run)
{
	return prepare(run, 0);
}

static bool init_in(struct bench_run *run)
{
	/* Whatever else in= names might take a byte amiss. */
	if (run->params->in_port == scratch_port())
		out8(scratch_port(), scratch_pattern(0));
	return prepare(run, run->params->in_port);
}

static enum check check_hypercall(struct bench_run *run)
{
	if (operand.wrong || operand.value[0] != operand.wanted) {
		bench_note(run, "%u calls gave another result than %x; the last gave %x",
			   operand.wrong, operand.wanted, operand.value[0]);
		return CHECK_FAILED;
	}
	bench_note(run, "each call returned the hypervisor's answer, as to 64-bit code");
	return CHECK_UNPROVEN;
}

static enum check check_cpuid(struct bench_run *run)
{
	const char *vendor = (const char *)operand.value;

	for (unsigned i = 0; i < 12; i++)
		if (vendor[i] < ' ' || vendor[i] > '~') {
			bench_note(run, "the vendor's name is not text");
			return CHECK_FAILED;
		}
	bench_note(run, "the CPU says \"%s\"; only the host can count exits", vendor);
	return CHECK_UNPROVEN;
}

static enum check check_in(struct bench_run *run)
{
	if (run->params->in_port == scratch_port() && operand.value[0] == scratch_pattern(0)) {
		bench_note(run, "the port gave the byte that was written to it before");
		return CHECK_PROVED;
	}
	bench_note(run, "the port gave %x; only the host can see the reads", operand.value[0]);
	return CHECK_UNPROVEN;
}

EXIT_ROW(in, "in-unpaged", "io", "read a byte from a port with paging off", "Xen", needs_port,
	 init_in, check_in, in_unpaged, SELF_TIMED | PARAM_HYPERCALL | PARAM_IN_PORT);
EXIT_ROW(hypercall, "hypercall-unpaged", "exception", "call into Xen and back with paging off",
	 "Xen", needs, init_hypercall, check_hypercall, hypercall_unpaged,
	 SELF_TIMED | PARAM_HYPERCALL);
EXIT_ROW(cpuid, "cpuid-unpaged", "exception", "ask the CPU for its vendor with paging off", "Xen",
	 needs, init_cpuid, check_cpuid, cpuid_unpaged, SELF_TIMED | PARAM_HYPERCALL);
