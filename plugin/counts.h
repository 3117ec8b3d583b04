/*
 * How often each instruction was executed between the marks of a guest, for windows that are too long for paths
 * (trace.h, whose table of instructions this uses), by level (vm.h). Pure: no QEMU, no files.
 */
#pragma once

#include "trace.h"

/* How often an instruction was executed in a window. */
struct counted {
	uint32_t insn; /* index in the trace's table */
	uint64_t times[LEVELS];
};

struct counted_window {
	size_t begin, count; /* in `rows` */
};

struct counts {
	struct trace *trace;
	uint64_t (*now)[LEVELS]; /* of the open window, for each instruction of the table */
	struct vm vms[MAX_CPUS];
	struct counted *rows;
	size_t row_count, row_room;
	struct counted_window *windows;
	uint32_t window_count;
};

bool counts_start(struct counts *counts, struct trace *trace);
/* A CPU executes it. The first mark opens a window and any other one closes it; both are counted in it. */
void counts_execute(struct counts *counts, unsigned cpu, const struct insn *insn);
