/* When all CPUs of the machine were idle at once, out of the kernel's trace: power:cpu_idle says that a CPU becomes
 * idle, any other event, such as an interrupt's, that it runs. Pure. */
#pragma once

#include <stdbool.h>

#include "common/limits.h"
#include "common/text.h"

struct idle {
	bool cpus[MAX_CPUS];
	unsigned cpu_count, idle_count;
	uint64_t since; /* when the last of them became idle */
	uint64_t ticks;
};

/* All of them run. */
void idle_begin(struct idle *idle, unsigned cpus);
/* Takes a line of the trace. False: it shows that events are missing, or is none of a trace. */
bool idle_take(struct idle *idle, const char *line, size_t bytes);
