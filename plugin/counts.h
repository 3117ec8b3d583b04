/*
 * How often each instruction was executed between the marks of a guest, for windows that are too long for paths
 * (trace.h, whose table of instructions this uses), by level (vm.h, arm.h); how long all CPUs halted; on ARM how often
 * VMs were left, by reason; and how long it took from one point of the code to the next one. Pure: no QEMU, no files.
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

/* A place in the code of a level. */
enum { MAX_POINTS = 8 };
struct point {
	uint64_t address;
	unsigned level;
};

/* Ways of any CPU from a point to the next one that any CPU passes. */
struct counted_way {
	uint8_t from, to; /* indices of points */
	uint64_t times, ticks;
};

struct counted_window {
	size_t begin, count;		/* in `rows` */
	size_t exits_begin, exit_count; /* in `exits` */
	size_t ways_begin, way_count;	/* in `ways` */
	uint64_t halted_ns;
};

struct counts {
	struct trace *trace;
	uint64_t (*now)[LEVELS]; /* of the open window, for each instruction of the table */
	uint64_t exits_now[LEVELS][ARM_EXITS];
	uint64_t all_ns, opened_ns; /* skipped by the clock: now, and when the window was opened */
	bool has_clock;		    /* counts_skip() is called */
	uint64_t own_vmid;	    /* of the VM that is level 0; UINT64_MAX: none */
	struct point points[MAX_POINTS];
	unsigned point_count;
	struct {
		uint64_t times, ticks;
	} ways_now[MAX_POINTS][MAX_POINTS];
	bool has_passed;    /* a point, in the open window: */
	unsigned last;	    /* its index */
	uint64_t passed_at; /* in ticks */
	uint64_t executed;  /* instructions of all CPUs */
	struct vm vms[MAX_CPUS];
	struct arm arms[MAX_CPUS];
	struct counted *rows;
	size_t row_count, row_room;
	struct counted_exit *exits;
	size_t exit_count, exit_room;
	struct counted_way *ways;
	size_t way_count, way_room;
	struct counted_window *windows;
	uint32_t window_count;
};

bool counts_start(struct counts *counts, struct trace *trace);
/* The clock has skipped so much since the machine began, while all CPUs halted. To be called before a mark and a point. */
void counts_skip(struct counts *counts, uint64_t all_ns);
/* A CPU executes it. The first mark opens a window and any other one closes it; both are counted in it. */
void counts_execute(struct counts *counts, unsigned cpu, const struct insn *insn);
/* A CPU has executed an ERET with these registers. */
void counts_enter(struct counts *counts, unsigned cpu, const struct arm_registers *registers);
/* Does it leave a VM if a CPU executes it? Then counts_leave() is to be called before. */
bool counts_leaves(const struct counts *counts, unsigned cpu, const struct insn *insn);
void counts_leave(struct counts *counts, unsigned cpu, const struct insn *insn, uint64_t esr_el2);
/* A CPU is about to execute an instruction that may be a point. */
bool counts_is_point(const struct counts *counts, const struct insn *insn);
void counts_pass(struct counts *counts, unsigned cpu, const struct insn *insn);
