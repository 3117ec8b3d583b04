/*
 * The doorbell: a guest rings it before the first sample of a benchmark and after the last, and
 * what happened between the two is written as an `exits` record (docs/records.md).
 */
#ifndef BELL_H
#define BELL_H

#include "record.h"
#include "vm.h"

/* What the guest's note says, at the guest-physical address that it writes to the doorbell. The
 * guest has the same structure (guest/core/bell.h). */
#define BELL_MAGIC 0x31425357u /* "WSB1" */
#define BELL_BEGIN 1
#define BELL_END   2

struct bell_note {
	uint32_t magic, kind;
	uint64_t index; /* of the benchmark among the selected */
	uint64_t iterations,
		samples; /* both 0: a pair with nothing between, to learn its own cost */
	char bench[64];
};

struct snapshot {
	uint64_t returns[MAX_REASONS]; /* of KVM_RUN, all vCPUs together */
	uint64_t interrupted, moves, nowhere;
	uint64_t kvm[MAX_STATS];
	uint64_t faults; /* page faults of this process */
	uint64_t pages;	 /* of the guest's memory; only where pages_known */
	bool pages_known;
	uint64_t ns;
};

struct bell {
	struct vm *vm;
	struct record_line *line;
	bool begun; /* a benchmark's first ring came, not yet its second */
	bool own_known;
	struct snapshot begin; /* at the first ring */
	struct snapshot own;   /* what a pair of rings costs by itself */
};

/* Adds the row that answers the doorbell's port. */
bool bell_add(struct bell *bell, struct vm *vm, struct record_line *line, uint16_t port,
	      struct error *error);

/* later - earlier - own in each counter, never below zero. Pure. */
void snapshot_subtract(struct snapshot *later, const struct snapshot *earlier,
		       const struct snapshot *own);

#endif
