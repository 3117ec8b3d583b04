/* A workload's commands; see step.h. */
#include "step.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "paths.h"

void step_no_process(struct outcome *outcome)
{
	*outcome = (struct outcome){ .status = 127 };
	snprintf(outcome->said, sizeof(outcome->said), "can't make a process: %s", strerror(errno));
}

void step_do(const struct workload *workload, enum phase phase, uint64_t units, int network,
	     struct outcome *outcome)
{
	const char *const lines[PHASES] = { [PHASE_PREPARE] = workload->prepare,
					    [PHASE_SERVE] = workload->serve,
					    [PHASE_RUN] = workload->run,
					    [PHASE_PROOF] = workload->proof };
	const char *output = phase == PHASE_RUN ? RUN_OUTPUT : STEP_OUTPUT;

	*outcome = (struct outcome){ .status = 0 };
	command_units(units);
	if (lines[phase])
		command_do(lines[phase], output, network, phase == PHASE_SERVE, outcome);
}
