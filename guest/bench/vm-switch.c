/* VM Switch (Dall et al. 2015, Table 1): from one VM to another on the same CPU. The guest kicks and halts;
 * the kick interrupts the other VM, whose handler stamps, interrupts this one and halts. */
#include "latency_row.h"

TIMED_DECLARE(vm_switch);

static bool init(struct bench_run *run)
{
	return latency_start(run, LATENCY_SWITCH, true);
}

BENCHMARK(vm_switch) = {
	.name = "vm-switch",
	.category = "exception",
	.summary = "from one VM to another on the same CPU",
	.requires = "our own monitor",
	.needs = latency_needs,
	.init = init,
	.run = vm_switch_run,
	.control = vm_switch_control,
	.check = latency_check,
	.cleanup = latency_stop,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 16,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = SELF_TIMED,
};
