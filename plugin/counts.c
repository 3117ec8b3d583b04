/* Counts; see counts.h. */
#include "counts.h"

#include <stdlib.h>
#include <string.h>

bool counts_start(struct counts *counts, struct trace *trace)
{
	*counts = (struct counts){ .trace = trace };
	counts->now = calloc(trace->limits.insns, sizeof(*counts->now));
	counts->windows = malloc(trace->limits.windows * sizeof(*counts->windows));
	return counts->now && counts->windows;
}

static void open_window(struct counts *counts)
{
	struct trace *trace = counts->trace;

	trace->dropped += trace->is_open;
	trace->is_open = true;
	memset(counts->now, 0, trace->insn_count * sizeof(*counts->now));
}

/* Makes room for one more row. */
static bool has_room(struct counts *counts)
{
	size_t room = counts->row_room ? counts->row_room * 2 : 1u << 16;
	struct counted *rows;

	if (counts->row_count < counts->row_room)
		return true;
	rows = realloc(counts->rows, room * sizeof(*rows));
	if (!rows)
		return false;
	counts->rows = rows;
	counts->row_room = room;
	return true;
}

static void close_window(struct counts *counts)
{
	struct trace *trace = counts->trace;
	size_t begin = counts->row_count;

	trace->is_open = false;
	if (counts->window_count == trace->limits.windows) {
		trace->failed = "there were more windows than it keeps";
		return;
	}
	for (uint32_t i = 0; i < trace->insn_count; i++) {
		const uint64_t *times = counts->now[i];

		if (!times[0] && !times[1])
			continue;
		if (!has_room(counts)) {
			trace->failed = "there was no memory for more counts";
			return;
		}
		counts->rows[counts->row_count++] =
			(struct counted){ .insn = i, .times = { times[0], times[1] } };
	}
	counts->windows[counts->window_count++] =
		(struct counted_window){ .begin = begin, .count = counts->row_count - begin };
}

void counts_execute(struct counts *counts, unsigned cpu, const struct insn *insn)
{
	struct trace *trace = counts->trace;
	struct vm *vm = &counts->vms[cpu % MAX_CPUS];
	bool closes = false;

	if (cpu >= MAX_CPUS)
		trace->failed = "the machine has more CPUs than it tells apart";
	vm_leave(vm, insn);
	if (insn->is_mark) {
		if (!trace->opener)
			trace->opener = insn;
		if (insn->address == trace->opener->address)
			open_window(counts);
		else
			closes = trace->is_open;
	}
	if (trace->is_open)
		counts->now[insn->index][vm->level]++;
	if (closes)
		close_window(counts);
	vm_enter(vm, insn);
}
