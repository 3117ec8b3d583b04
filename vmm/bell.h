/*
 * The doorbell: a guest rings it before the first sample of a benchmark and after the last, and
 * what happened between the two is written as an `exits` record (docs/records.md).
 */
#ifndef BELL_H
#define BELL_H

#include "record.h"
#include "vm.h"

/* The note that lies where a guest's write to the doorbell points (docs/guest.md). */
#define BELL_MAGIC 0x31425357u /* "WSB1" */
#define BELL_BEGIN 1
#define BELL_END   2

struct bell_note {
	uint32_t magic, kind;
	uint64_t index, iterations, samples; /* the last two 0: nothing lies between the rings */
	char bench[64];
};

/* What is counted: KVM_RUN's returns by reason and KVM's statistics, then these. */
enum {
	COUNT_KVM = MAX_REASONS,
	COUNT_INTERRUPTED = COUNT_KVM + MAX_STATS,
	COUNT_NOWHERE,
	COUNT_FAULTS, /* page faults of this process */
	COUNT_NS,
	COUNTS
};

struct snapshot {
	uint64_t counts[COUNTS];
	uint64_t moves, pages; /* of the guest's memory; only where pages_known */
	bool pages_known;
};

struct bell {
	struct vm *vm;
	struct record_line *line;
	bool begun;	       /* the first ring of a pair came */
	struct snapshot begin; /* then */
	bool own_known;
	uint64_t own[COUNTS]; /* what a pair of rings costs by itself */
};

/* Adds the row that answers the doorbell's port. */
bool bell_add(struct bell *bell, struct vm *vm, struct record_line *line, uint16_t port,
	      struct error *error);

#endif
