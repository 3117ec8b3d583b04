/* IN: reads a byte from a port. Default: a read/write register of the console's device without side
 * effects; in= names another. */
#include "shared_phases.h"

TIMED_PAIR(in, BEFORE_PORT, "", OP_PORT_IN, AFTER_PORT_IN);

static struct port_operand operand, control_operand;

const char *in_needs(const struct params *params)
{
	return params->in_port == PORT_NONE ? "no device register is known here: give in=" : NULL;
}

bool in_init(struct bench_run *run)
{
	operand = (struct port_operand){ .port = (io_port)run->params->in_port };
	control_operand = operand;
	run->operand = &operand;
	run->control_operand = &control_operand;
	/* Another port of in= may have side effects on a write. */
	if (run->params->in_port == scratch_port())
		out8(scratch_port(), scratch_pattern(0));
	return true;
}

enum check in_check(struct bench_run *run)
{
	if (run->params->in_port == scratch_port() && operand.value == scratch_pattern(0)) {
		bench_note(run, "the port gave the byte that was written to it before");
		return CHECK_PROVED;
	}
	bench_note(run, "the port gave %x; only the host can see the reads", operand.value);
	return CHECK_UNPROVEN;
}

BENCHMARK(in) = {
	.name = "in",
	.category = "io",
	.summary = "read a byte from a port",
	.requires = "",
	.needs = in_needs,
	.init = in_init,
	.run = in_run,
	.control = in_control,
	.check = in_check,
	.cpus = 1,
	.min_iterations = 1000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_IN_PORT,
};
