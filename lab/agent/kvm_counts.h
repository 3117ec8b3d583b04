/* What KVM counts on the host: its statistics in debugfs, and why guests exit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/record.h"

#define MAX_COUNTERS 96

struct kvm_counts {
	uint64_t values[MAX_COUNTERS];
};

/* Finds the counters: after KVM was loaded. */
void kvm_counts_setup(void);
/* Reads all. */
void kvm_counts_read(struct kvm_counts *counts);
/* What a mark of the guest's counts by itself: the least of several, with nothing in between. */
void kvm_counts_learn(const struct kvm_counts *begin, const struct kvm_counts *end);
/* Adds what was counted in between to *sum; between marks, without their own cost. */
void kvm_counts_add(struct kvm_counts *sum, const struct kvm_counts *begin,
		    const struct kvm_counts *end, bool marked);
/* The field `kvm`. */
void kvm_counts_send(struct record *record, const struct kvm_counts *sum);
