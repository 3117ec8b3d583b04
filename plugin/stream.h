/*
 * All that a machine executes, from its first instruction on, to be compared with what another one executes while both
 * run (peer.h). It is cut into intervals of equally many instructions, each with a hash; of the instructions themselves
 * only the last intervals are kept, so that the memory does not grow with the length of a boot. Pure: no QEMU, no files.
 *
 * No instruction tells how much time a machine skips that halts with -icount sleep=off: an item has it.
 */
#pragma once

#include "trace.h"

/* The interval whose hash differs, the one before it, and the one after it. */
enum { STREAM_KEPT = 3 };

/* CPUs of a machine, whose levels are followed. */

/* When an instruction was executed first, from 1, times two, and the level at which. */
#define FIRST(executed, level) ((executed) << 1 | (level))

/* An executed instruction. */
struct item {
	uint64_t skipped_ns; /* by the clock, in a halt just before it */
	uint32_t insn;	     /* index in the trace's table */
	uint8_t cpu, level;  /* level: vm.h */
};

struct stream {
	struct trace *trace; /* the table of instructions; its paths are not used */
	struct item *kept;   /* a ring of STREAM_KEPT intervals */
	uint64_t *firsts;    /* of each instruction of the table: FIRST() or 0 */
	uint32_t interval;   /* instructions */
	uint32_t now;	     /* the next item's index in the ring */
	uint32_t left;	     /* instructions of this interval that are still to come */
	uint64_t executed;   /* instructions */
	uint64_t hash;	     /* of this interval */
	uint64_t all_ns;     /* skipped by the clock, when it was last looked at */
	uint64_t skipped_ns; /* just now */
	int only_cpu;	     /* -1: all */
	struct vm vms[MAX_CPUS];
	struct place {
		uint32_t left;
		uint64_t executed, hash;
	} output;	 /* just after the last output of any CPU */
	bool has_output; /* in this interval */
	uint32_t lost;	 /* the oldest items, in whose room stood what was taken back */
	bool has_halted; /* since the clock was last looked at */
	bool has_clock;	 /* stream_skip() is called */
	bool has_ended;	 /* the machine */
};

/* False: there is no memory. */
bool stream_start(struct stream *stream, struct trace *trace, uint32_t interval, int only_cpu);
/* The clock has skipped so much since the machine began. To be called before an instruction if `has_halted`. */
void stream_skip(struct stream *stream, uint64_t all_ns);
/* An instruction is executed. True: the interval is full, and `hash` is that of it; stream_next() begins another one. */
bool stream_execute(struct stream *stream, unsigned cpu, const struct insn *insn);
void stream_next(struct stream *stream);
/* What came after the last output in this interval was not executed. Without one nothing changes. */
void stream_return(struct stream *stream);
/* How many items are kept, and one of them; the oldest has number 0. */
uint64_t stream_kept(const struct stream *stream);
const struct item *stream_item(const struct stream *stream, uint64_t number);
