/* The kernel's trace of events (tracefs), with the machine's ticks as its clock. It costs instructions: never in
 * a measured window. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct trace_event {
	const char *name;   /* net/net_dev_queue */
	const char *filter; /* which of them; NULL: all */
};

/* Begins with an empty trace. False: the kernel can't. */
bool events_begin(const struct trace_event *events, unsigned count);
void events_end(const struct trace_event *events, unsigned count);
/* Reads the trace. Returns its bytes; 0: it can't be read, or is longer. */
size_t events_read(char *text, size_t bytes);
