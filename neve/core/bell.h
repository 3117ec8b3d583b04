/*
 * The doorbell of the test device: a guest rings it before the first sample of a benchmark and after the
 * last, and what happened between the two is written as an `exits` record (docs/records.md).
 */
#ifndef BELL_H
#define BELL_H

#include "bell_note.h"
#include "counts.h"

struct bell {
	bool begun, own_known;
	struct counts begin, own; /* then; what a pair of rings costs by itself */
	uint64_t begin_ticks;
};

struct vcpu;

/* The guest wrote the note's guest-physical address. */
void bell_ring(struct vcpu *vcpu, uint64_t note);

#endif
