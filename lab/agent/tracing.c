/* Traced windows; see tracing.h. */
#include "tracing.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/reasons.h"
#include "files.h"
#include "idle.h"
#include "paths.h"
#include "machine.h"
#include "pins.h"
#include "several.h"

/* A CPU becomes idle; and what ends it. Only interrupts do. */
static const char *const idle_events[] = {
	TRACING "/events/power/cpu_idle/enable",
	TRACING "/events/irq_vectors/enable",
	TRACING "/events/irq/irq_handler_entry/enable",
};

static struct reasons before;

static bool idle_events_write(const char *text)
{
	bool done = true;

	for (unsigned i = 0; i < sizeof(idle_events) / sizeof(idle_events[0]); i++)
		done = file_write(idle_events[i], text) && done;
	return done;
}

static unsigned cpu_count(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus > 0 ? (unsigned)cpus : 1;
}

bool tracing_start(void)
{
	/* Another clock empties the trace. */
	return file_write(TRACING "/tracing_on", "0") &&
	       file_write(TRACING "/trace_clock", "local") &&
	       file_write(TRACING "/trace_clock", TRACE_CLOCK) && idle_events_write("1") &&
	       (SEVERAL_CPUS || reasons_begin()); /* which only KVM has */
}

void tracing_begin(struct traced *traced)
{
	*traced = (struct traced){ .idle_ticks = 0 };
	(void)file_write(TRACING "/tracing_on", "1");
	/* A CPU that is idle shows so: one without any event runs. */
	pins_visit(cpu_count());
	reasons_read(&before);
}

void tracing_end(struct traced *traced)
{
	reasons_read(&traced->reasons);
	(void)file_write(TRACING "/tracing_on", "0");
	reasons_subtract(&traced->reasons, &before);
}

static void read_idle(struct traced *traced)
{
	FILE *trace = fopen(TRACING "/trace", "re");
	bool knows = trace != NULL;
	struct idle idle;
	char *line = NULL;
	size_t size = 0;
	ssize_t bytes;

	idle_begin(&idle, cpu_count());
	while (knows && (bytes = getline(&line, &size, trace)) > 0)
		knows = idle_take(&idle, line, (size_t)bytes - (line[bytes - 1] == '\n'));
	if (trace)
		fclose(trace);
	free(line);
	traced->knows_idle = knows;
	traced->idle_ticks = idle.ticks;
}

void tracing_stop(struct traced *traced)
{
	(void)idle_events_write("0");
	reasons_end();
	read_idle(traced);
	(void)file_write(TRACING "/tracing_on", "1");
}
