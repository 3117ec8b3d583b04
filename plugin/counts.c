/* Counts; see counts.h. */
#include "counts.h"

#include <stdlib.h>
#include <string.h>

bool counts_start(struct counts *counts, struct trace *trace)
{
	*counts = (struct counts){ .trace = trace, .own_vmid = UINT64_MAX };
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
	memset(counts->exits_now, 0, sizeof(counts->exits_now));
	memset(counts->ways_now, 0, sizeof(counts->ways_now));
	counts->has_passed = false;
	counts->opened_ns = counts->all_ns;
}

void counts_skip(struct counts *counts, uint64_t all_ns)
{
	counts->all_ns = all_ns;
}

/* Makes room for one more row of so many bytes, behind `count` others. NULL: there is none. */
static void *with_room(void *rows, size_t count, size_t *room, size_t bytes)
{
	size_t more = *room ? *room * 2 : 1u << 12;

	if (count < *room)
		return rows;
	rows = realloc(rows, more * bytes);
	if (rows)
		*room = more;
	return rows;
}

static bool keep_insn(struct counts *counts, uint32_t insn)
{
	const uint64_t *times = counts->now[insn];
	struct counted *rows;

	if (!times[0] && !times[1])
		return true;
	rows = with_room(counts->rows, counts->row_count, &counts->row_room, sizeof(*rows));
	if (!rows)
		return false;
	counts->rows = rows;
	rows[counts->row_count++] =
		(struct counted){ .insn = insn, .times = { times[0], times[1] } };
	return true;
}

static bool keep_exits(struct counts *counts, unsigned level, unsigned reason)
{
	uint64_t times = counts->exits_now[level][reason];
	struct counted_exit *exits;

	if (!times)
		return true;
	exits = with_room(counts->exits, counts->exit_count, &counts->exit_room, sizeof(*exits));
	if (!exits)
		return false;
	counts->exits = exits;
	exits[counts->exit_count++] = (struct counted_exit){ .level = (uint8_t)level,
							     .reason = (uint8_t)reason,
							     .times = times };
	return true;
}

static bool keep_way(struct counts *counts, unsigned from, unsigned to)
{
	struct counted_way *ways;

	if (!counts->ways_now[from][to].times)
		return true;
	ways = with_room(counts->ways, counts->way_count, &counts->way_room, sizeof(*ways));
	if (!ways)
		return false;
	counts->ways = ways;
	ways[counts->way_count++] =
		(struct counted_way){ .from = (uint8_t)from,
				      .to = (uint8_t)to,
				      .times = counts->ways_now[from][to].times,
				      .ticks = counts->ways_now[from][to].ticks };
	return true;
}

/* False: there is no memory. */
static bool keep_window(struct counts *counts)
{
	bool kept = true;

	for (uint32_t i = 0; kept && i < counts->trace->insn_count; i++)
		kept = keep_insn(counts, i);
	for (unsigned level = 0; level < LEVELS; level++)
		for (unsigned reason = 0; kept && reason < ARM_EXITS; reason++)
			kept = keep_exits(counts, level, reason);
	for (unsigned from = 0; from < MAX_POINTS; from++)
		for (unsigned to = 0; kept && to < MAX_POINTS; to++)
			kept = keep_way(counts, from, to);
	return kept;
}

static void close_window(struct counts *counts)
{
	struct trace *trace = counts->trace;
	struct counted_window window = { .begin = counts->row_count,
					 .exits_begin = counts->exit_count,
					 .ways_begin = counts->way_count,
					 .halted_ns = counts->all_ns - counts->opened_ns };

	trace->is_open = false;
	if (counts->window_count == trace->limits.windows) {
		trace->failed = "there were more windows than it keeps";
		return;
	}
	if (!keep_window(counts)) {
		trace->failed = "there was no memory for more counts";
		return;
	}
	window.count = counts->row_count - window.begin;
	window.exit_count = counts->exit_count - window.exits_begin;
	window.way_count = counts->way_count - window.ways_begin;
	counts->windows[counts->window_count++] = window;
}

void counts_execute(struct counts *counts, unsigned cpu, const struct insn *insn)
{
	struct trace *trace = counts->trace;
	struct vm *vm = &counts->vms[cpu % MAX_CPUS];
	bool closes = false;

	counts->executed++;
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

void counts_enter(struct counts *counts, unsigned cpu, const struct arm_registers *registers)
{
	struct vm *vm = &counts->vms[cpu % MAX_CPUS];

	arm_enter(&counts->arms[cpu % MAX_CPUS], registers, counts->own_vmid, &vm->level);
}

bool counts_leaves(const struct counts *counts, unsigned cpu, const struct insn *insn)
{
	return arm_leaves(&counts->arms[cpu % MAX_CPUS], insn);
}

void counts_leave(struct counts *counts, unsigned cpu, const struct insn *insn, uint64_t esr_el2)
{
	struct vm *vm = &counts->vms[cpu % MAX_CPUS];
	unsigned reason = arm_leave(&counts->arms[cpu % MAX_CPUS], insn, esr_el2);

	if (counts->trace->is_open)
		counts->exits_now[vm->level][reason]++;
	vm->level = 0;
}

bool counts_is_point(const struct counts *counts, const struct insn *insn)
{
	for (unsigned i = 0; i < counts->point_count; i++)
		if (counts->points[i].address == insn->address)
			return true;
	return false;
}

void counts_pass(struct counts *counts, unsigned cpu, const struct insn *insn)
{
	unsigned level = counts->vms[cpu % MAX_CPUS].level, point = 0;
	uint64_t now = counts->executed + counts->all_ns;

	while (point < counts->point_count && (counts->points[point].address != insn->address ||
					       counts->points[point].level != level))
		point++;
	if (!counts->trace->is_open || point == counts->point_count)
		return;
	if (counts->has_passed) {
		counts->ways_now[counts->last][point].times++;
		counts->ways_now[counts->last][point].ticks += now - counts->passed_at;
	}
	counts->has_passed = true;
	counts->last = point;
	counts->passed_at = now;
}
