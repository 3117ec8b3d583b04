/*
 * The doorbell of the test device. A guest rings it before the first sample of a benchmark and after the
 * last; the exits in between are written as an `exits` record (docs/records.md).
 */
#ifndef BELL_H
#define BELL_H

#include <stdbool.h>

#include "common/bell_note.h"
#include "common/record.h"
#include "core/counts.h"

struct bell {
	bool begun, own_known;
	struct counts begin, own; /* at the first ring; of an empty pair of rings */
	uint64_t begin_ticks;
	struct bell_note passed_on;
	char text[MAX_RECORD_BYTES]; /* a copy of what the guest gives to write */
};

struct vcpu;

/* Rings the doorbell of the hypervisor below as well; see outer_bell(). */
void bell_use_outer(uint64_t address);

/* The guest wrote the guest-physical address `note` to the doorbell. */
void bell_ring(struct vcpu *vcpu, uint64_t note);

#endif
