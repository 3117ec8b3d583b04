/*
 * Idle CPUs; see idle.h. The lines of Linux 6.12 (kernel/trace/trace_output.c), with the clock x86-tsc:
 *          <idle>-0       [001] d..1. 22233445566: cpu_idle: state=1 cpu_id=1
 *          <idle>-0       [001] d.h1. 22233445577: reschedule_entry: vector=253
 * and of its head, which says how many of the written lines are still there:
 * # entries-in-buffer/entries-written: 4711/4711   #P:3
 * The greatest state of 32 bits says that the CPU runs again (include/trace/events/power.h).
 */
#include <string.h>

#include "idle.h"

static const char idle_event[] = " cpu_idle: state=";
static const char runs_again[] = "4294967295 ";
static const char entries[] = "# entries-in-buffer/entries-written: ";

void idle_begin(struct idle *idle, unsigned cpus)
{
	*idle = (struct idle){ .cpu_count = cpus < MAX_CPUS ? cpus : MAX_CPUS };
}

/* The number between `begin` and the next `last`. Returns what is behind that. */
static const char *number(const char *begin, const char *end, char last, uint64_t *value)
{
	const char *stop = memchr(begin, last, (size_t)(end - begin));

	return stop && parse_u64(begin, (size_t)(stop - begin), value) ? stop + 1 : NULL;
}

static bool begins_with(const char *text, const char *end, const char *what)
{
	size_t bytes = strlen(what);

	return (size_t)(end - text) >= bytes && memcmp(text, what, bytes) == 0;
}

static const char *skip(const char *text, const char *end, bool blanks)
{
	while (text < end && (*text == ' ') == blanks)
		text++;
	return text;
}

static bool change(struct idle *idle, uint64_t cpu, bool is_idle, uint64_t when)
{
	if (cpu >= idle->cpu_count)
		return false;
	if (idle->cpus[cpu] == is_idle)
		return true;
	if (!is_idle && idle->idle_count == idle->cpu_count) {
		if (when < idle->since)
			return false;
		idle->ticks += when - idle->since;
	}
	idle->cpus[cpu] = is_idle;
	idle->idle_count = is_idle ? idle->idle_count + 1 : idle->idle_count - 1;
	idle->since = when;
	return true;
}

/* Does the trace have all lines that were written? */
static bool is_whole(const char *line, const char *end)
{
	uint64_t there, written;
	const char *at;

	if (!begins_with(line, end, entries))
		return true;
	at = number(line + strlen(entries), end, '/', &there);
	return at && number(at, end, ' ', &written) && there == written;
}

bool idle_take(struct idle *idle, const char *line, size_t bytes)
{
	const char *end = line + bytes, *at;
	uint64_t cpu, when;
	bool is_idle;

	if (bytes == 0 || *line == '#')
		return is_whole(line, end);
	at = memmem(line, bytes, " [", 2);
	at = at ? number(at + 2, end, ']', &cpu) : NULL;
	if (!at)
		return false;
	at = skip(skip(skip(at, end, true), end, false), end, true);
	at = number(at, end, ':', &when);
	if (!at)
		return false;
	is_idle = begins_with(at, end, idle_event) &&
		  !begins_with(at + strlen(idle_event), end, runs_again);
	return change(idle, cpu, is_idle, when);
}
