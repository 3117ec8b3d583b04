/* The commands of a workload, on this side. */
#pragma once

#include "command.h"
#include "message.h"

/* Does what the phase is, not measured; nothing if the workload has no such command. */
void step_do(const struct workload *workload, enum phase phase, uint64_t units, int network,
	     struct outcome *outcome);
void step_no_process(struct outcome *outcome);
