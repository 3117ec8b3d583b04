/*
 * Idle CPUs; see idle.h. The lines of Linux 6.12 (kernel/trace/trace_output.c), with the clock x86-tsc:
 *          <idle>-0       [001] d..1. 22233445566: cpu_idle: state=1 cpu_id=1
 * The greatest state of 32 bits says that the CPU runs again (include/trace/events/power.h).
 */
#include <string.h>

#include "idle.h"

#define RUNS_AGAIN UINT32_MAX

void idle_begin(struct idle *idle, unsigned cpus)
{
	*idle = (struct idle){ .cpu_count = cpus < MAX_CPUS ? cpus : MAX_CPUS };
}

static const char *find(const char *text, const char *end, const char *what)
{
	return memmem(text, (size_t)(end - text), what, strlen(what));
}

/* The number that begins at `text`. Returns its end. */
static const char *number_at(const char *text, const char *end, uint64_t *value)
{
	const char *begin = text;

	while (text < end && *text >= '0' && *text <= '9')
		text++;
	return parse_u64(begin, (size_t)(text - begin), value) ? text : NULL;
}

static const char *begin_of_number(const char *line, const char *end)
{
	while (end > line && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return end;
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
	idle->idle_count += is_idle ? 1 : -1u;
	idle->since = when;
	return true;
}

bool idle_take(struct idle *idle, const char *line, size_t bytes)
{
	static const char event[] = ": cpu_idle: state=", of[] = " cpu_id=";
	const char *end = line + bytes, *at, *cpu_at, *state_end;
	uint64_t when, state, cpu;

	if (bytes == 0 || *line == '#')
		return true;
	at = find(line, end, event);
	if (!at || !number_at(begin_of_number(line, at), at, &when))
		return false;
	at += strlen(event);
	state_end = number_at(at, end, &state);
	if (!state_end)
		return false;
	cpu_at = find(state_end, end, of);
	if (cpu_at != state_end || number_at(cpu_at + strlen(of), end, &cpu) != end)
		return false;
	return change(idle, cpu, state != RUNS_AGAIN, when);
}
