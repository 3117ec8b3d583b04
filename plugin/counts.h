/*
 * How often each instruction was executed between the marks of a guest, for windows that are too long for paths
 * (trace.h, whose table of instructions this uses). Pure: no QEMU, no files.
 *
 * Level 0 is the machine's own software, level 1 all that runs in its VMs: VMRUN enters level 1, and the
 * instruction behind that VMRUN, where each exit of a VM goes on, is level 0 again. A VMRUN of a VM's own changes
 * nothing.
 */
#pragma once

#include "trace.h"

enum { LEVELS = 2 };

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
	unsigned level;
	const struct insn *vmrun; /* that entered level 1 */
	struct counted *rows;
	size_t row_count, row_room;
	struct counted_window *windows;
	uint32_t window_count;
};

bool counts_start(struct counts *counts, struct trace *trace);
/* It is executed. The first mark opens a window and any other one closes it; both are counted in it. */
void counts_execute(struct counts *counts, const struct insn *insn);
