/*
 * The doorbell of the test device: a guest rings it before the first sample of a benchmark and after the
 * last, and what happened between the two is written as an `exits` record (docs/records.md).
 */
#ifndef BELL_H
#define BELL_H

#include <stdbool.h>

#include "common/bell_note.h"
#include "core/counts.h"

struct bell {
	bool begun, own_known;
	struct counts begin, own; /* then; what a pair of rings costs by itself */
	uint64_t begin_ticks;
	struct bell_note passed_on;
};

struct vcpu;

/* The word doorbell=ADDRESS of our own command line: that of whoever runs us, which we ring too. False: there
 * is none. */
bool outer_bell(const char *command_line, uint64_t *address);
void bell_use_outer(uint64_t address);

/* The guest wrote the note's guest-physical address. */
void bell_ring(struct vcpu *vcpu, uint64_t note);

#endif
