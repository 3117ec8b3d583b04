/* IN: reads a byte from a port. By default the first serial port's scratch register, which keeps a
 * byte and does nothing else; in= names another. */
#include "bench.h"

TIMED_PAIR(in, BEFORE_PORT, "", OP_PORT_IN, AFTER_PORT_IN);

#define SCRATCH 0x3ff /* of the first serial port */
#define PATTERN 0x6b

static struct port_operand operand, control_operand;

static bool init(struct bench_run *run)
{
	operand = (struct port_operand){ .port = run->params->in_port };
	control_operand = operand;
	run->operand = &operand;
	run->control_operand = &control_operand;
	/* Whatever else in= names might take a byte amiss. */
	if (run->params->in_port == SCRATCH)
		out8(SCRATCH, PATTERN);
	return true;
}

static enum check check(struct bench_run *run)
{
	if (run->params->in_port == SCRATCH && operand.value == PATTERN) {
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
	.init = init,
	.run = in_run,
	.control = in_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 1000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_IN_PORT,
};
