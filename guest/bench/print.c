/* Print: writes a string to the serial port of print=, byte by byte. Never to the port that carries the
 * records. */
#include "bench.h"

TIMED_DECLARE(print);

/* Of a serial port; none of them may be the record port's. */
#define PORT_REGISTERS 8

static const char string[] = "worldswitch prints this string.\n"; /* 32 characters */

static struct port_operand operand;

static const char *needs(const struct params *params)
{
	if (params->print_port == PORT_NONE)
		return "print=none: this platform gives no second serial port";
	if (console_needs_port(params->print_port, PORT_REGISTERS))
		return "print= names the record line: choose another port";
	if (!serial_port_present(params->print_port))
		return "no serial port answers at print=: give the machine a second one, or its port";
	return NULL;
}

static bool init(struct bench_run *run)
{
	operand = (struct port_operand){
		.port = (io_port)run->params->print_port,
		.string = string,
		.bytes = sizeof(string) - 1,
	};
	run->operand = &operand;
	return true;
}

static enum check check(struct bench_run *run)
{
	if (!serial_port_drained(run->params->print_port)) {
		bench_note(run, "the port did not send what it was given");
		return CHECK_FAILED;
	}
	bench_note(run, "the port says that it sent all; only the host can see what arrived");
	return CHECK_UNPROVEN;
}

BENCHMARK(print) = {
	.name = "print",
	.category = "io",
	.summary = "write a string of 32 bytes to a serial port (byte by byte)",
	.requires = "a second serial port",
	.needs = needs,
	.init = init,
	.run = print_run,
	.control = print_control,
	.check = check,
	.cpus = 1,
	.min_iterations = 10,
	.max_iterations = 1000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_PRINT_PORT,
};
