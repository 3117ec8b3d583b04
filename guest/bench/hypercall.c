/* Hypercall: a call into the hypervisor that returns without doing work there. */
#include "shared_phases.h"

static struct hypercall_operand operand, control_operand;

static void one(void *argument)
{
	hypercall_run(1, argument);
}

const char *hypercall_needs(const struct params *params)
{
	struct fault fault;

	if (params->hypercall == HYPERCALL_NONE)
		return "hypercall=none: no hypervisor here is known to answer hypercalls";
	if (params->hypercall == HYPERCALL_HYPERV)
		return "Hyper-V's hypercall is the row hv-hypercall";
	operand = hypercall_operand(params->hypercall);
	if (!try_call(one, &operand, &fault))
		return "the hypercall instruction raised an exception: no hypervisor takes it";
	return NULL;
}

bool hypercall_init(struct bench_run *run)
{
	int64_t version = (int64_t)operand.last;

	/* KVM's answer is known; Xen's is the one that the probe got, if it is a version. */
	if (run->params->hypercall == HYPERCALL_XEN)
		operand.wanted = operand.last;
	if (run->params->hypercall == HYPERCALL_XEN && (version <= 0 || version >> 32))
		run->reason = "the hypervisor answered xen_version with an error";
	operand.wrong = 0;
	control_operand = operand;
	run->operand = &operand;
	run->control_operand = &control_operand;
	return !run->reason;
}

enum check hypercall_check(struct bench_run *run)
{
	if (operand.wrong || operand.last != operand.wanted) {
		bench_note(run, "%lu calls gave another result than %lx; the last gave %lx",
			   operand.wrong, operand.wanted, operand.last);
		return CHECK_FAILED;
	}
	bench_note(run,
		   "each call returned the hypervisor's answer; only the host can count exits");
	return CHECK_UNPROVEN;
}

BENCHMARK(hypercall) = {
	.name = "hypercall",
	.category = "exception",
	.summary = "call into the hypervisor and back, without work there",
	.requires = "a hypervisor that answers hypercalls",
	.needs = hypercall_needs,
	.init = hypercall_init,
	.run = hypercall_run,
	.control = hypercall_control,
	.check = hypercall_check,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 1000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_HYPERCALL,
};
