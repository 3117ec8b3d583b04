/* A hypercall while an interrupt is pending for this CPU and masked: the hypervisor keeps it for the guest, in
 * a list register of the GIC or as a virtual interrupt of SVM or VMX. */
#include "shared_phases.h"

static bool init(struct bench_run *run)
{
	if (!hypercall_init(run))
		return false;
	run->reason = "there is no interrupt controller that this guest knows";
	return pending_send();
}

static enum check check(struct bench_run *run)
{
	if (pending_take())
		return hypercall_check(run);
	bench_note(run, "no interrupt was pending any more behind the last hypercall");
	return CHECK_FAILED;
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	/* If the row came to no check. */
	pending_take();
}

BENCHMARK(hypercall_pending) = {
	.name = "hypercall-pending",
	.category = "exception",
	.summary = "hypercall while an interrupt is pending that the guest masks",
	.requires = "a hypervisor that answers hypercalls, an interrupt controller",
	.needs = hypercall_needs,
	.init = init,
	.run = hypercall_run,
	.control = hypercall_control,
	.check = check,
	.cleanup = cleanup,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 1000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_HYPERCALL,
};
