/* OUT: writes a byte to a port. Default: a read/write register of the console's device without side
 * effects; out= names another. */
#include "bench.h"

TIMED_PAIR(out, BEFORE_PORT, "", OP_PORT_OUT, "");

static struct port_operand operand;

static const char *needs(const struct params *params)
{
	if (params->out_port == PORT_NONE)
		return "no device register is known here: give out=";
	if (console_needs_port(params->out_port, 1))
		return "out= names a register of the record line: choose another port";
	return NULL;
}

static bool init(struct bench_run *run)
{
	operand = (struct port_operand){
		.port = (io_port)run->params->out_port,
		.value = scratch_pattern(1),
	};
	run->operand = &operand;
	out8(run->params->out_port, 0);
	return true;
}

static enum check check(struct bench_run *run)
{
	if (in8(run->params->out_port) == scratch_pattern(1)) {
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
