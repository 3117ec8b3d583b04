/* OUT: writes a byte to a port. By default the first serial port's scratch register, which keeps a
 * byte and does nothing else; out= names another. */
#include "bench.h"

TIMED_PAIR(out, BEFORE_PORT, "", OP_PORT_OUT, "");

#define PATTERN 0x94

static struct port_operand operand;

/* The record line's own registers, but for the scratch register. */
static const char *needs(const struct params *params)
{
	if (params->out_port >= 0x3f8 && params->out_port < 0x3ff)
		return "out= names a register of the record line: choose another port";
	return NULL;
}

static bool init(struct bench_run *run)
{
	operand = (struct port_operand){ .port = run->params->out_port, .value = PATTERN };
	run->operand = &operand;
	out8(run->params->out_port, 0);
	return true;
}

static enum check check(struct bench_run *run)
{
	if (in8(run->params->out_port) == PATTERN) {
		bench_note(run, "the port gives back the byte that was written");
		return CHECK_PROVED;
	}
	bench_note(run, "the port keeps no byte: only the host can see the writes");
	return CHECK_UNPROVEN;
}

BENCHMARK(out) = {
	.name = "out",
	.category = "io",
	.summary = "write a byte to a port",
	.requires = "",
	.needs = needs,
	.init = init,
	.run = out_run,
	.control = out_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 1000,
	.max_iterations = 10000000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_OUT_PORT,
};
