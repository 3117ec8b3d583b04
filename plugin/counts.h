/*
 * How often each instruction was executed between the marks of a guest, for windows that are too long for paths
 * (trace.h, whose table of instructions this uses), by level (vm.h, arm.h); how long all CPUs halted; and on ARM how often
 * VMs were left, by reason. Pure: no QEMU, no files.
 */
#pragma once

#include "arm.h"
#include "trace.h"

/* How often an instruction was executed in a window. */
struct counted {
	uint32_t insn; /* index in the trace's table */
	uint64_t times[LEVELS];
};

/* How often a VM was left in a window. */
struct counted_exit {
	uint8_t level, reason; /* the VM's (arm.h: dom0 has 0), an arm_exit */
	uint64_t times;
};

struct counted_window {
	size_t begin, count;		/* in `rows` */
	size_t exits_begin, exit_count; /* in `exits` */
	uint64_t halted_ns;
};

struct counts {
	struct trace *trace;
	uint64_t (*now)[LEVELS]; /* of the open window, for each instruction of the table */
	uint64_t exits_now[LEVELS][ARM_EXITS];
	uint64_t all_ns, opened_ns; /* skipped by the clock: now, and when the window was opened */
	bool has_clock;		    /* counts_skip() is called */
	uint64_t own_vmid;	    /* of the VM that is level 0; UINT64_MAX: none */
	struct vm vms[MAX_CPUS];
	struct arm arms[MAX_CPUS];
	struct counted *rows;
	size_t row_count, row_room;
	struct counted_exit *exits;
	size_t exit_count, exit_room;
	struct counted_window *windows;
	uint32_t window_count;
};

bool counts_start(struct counts *counts, struct trace *trace);
/* The clock has skipped so much since the machine began, while all CPUs halted. To be called before a mark. */
void counts_skip(struct counts *counts, uint64_t all_ns);
/* A CPU executes it. The first mark opens a window and any other one closes it; both are counted in it. */
void counts_execute(struct counts *counts, unsigned cpu, const struct insn *insn);
/* A CPU has executed an ERET with these registers. */
void counts_enter(struct counts *counts, unsigned cpu, const struct arm_registers *registers);
/* Does it leave a VM if a CPU executes it? Then counts_leave() is to be called before. */
bool counts_leaves(const struct counts *counts, unsigned cpu, const struct insn *insn);
void counts_leave(struct counts *counts, unsigned cpu, const struct insn *insn, uint64_t esr_el2);
