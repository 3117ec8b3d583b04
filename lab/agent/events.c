/* Traced events; see events.h. */
#include "events.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "files.h"
#include "machine.h"
#include "paths.h"

static bool write_to(const struct trace_event *event, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), TRACING "/events/%.64s/%s", event->name, file);
	return file_write(path, text);
}

bool events_begin(const struct trace_event *events, unsigned count)
{
	int trace = open(TRACING "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);
	bool begun = trace >= 0 && file_write(TRACING "/trace_clock", TRACE_CLOCK);

	if (trace >= 0)
		close(trace);
	for (unsigned i = 0; i < count; i++)
		begun = begun &&
			(!events[i].filter || write_to(&events[i], "filter", events[i].filter));
	for (unsigned i = 0; i < count; i++)
		begun = begun && write_to(&events[i], "enable", "1");
	if (!begun)
		events_end(events, count);
	return begun;
}

void events_end(const struct trace_event *events, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		(void)write_to(&events[i], "enable", "0");
		(void)write_to(&events[i], "filter", "0");
	}
}

size_t events_read(char *text, size_t bytes)
{
	size_t used = file_read(TRACING "/trace", text, bytes);

	return used < bytes ? used : 0;
}
