/* KVM's binary statistics of vCPUs (Documentation/virt/kvm/api.rst, KVM_GET_STATS_FD): counters by
 * name, kept by the kernel. What a kernel offers differs; a software KVM may offer none. */
#ifndef STATS_H
#define STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_STATS     96
#define MAX_STAT_NAME 48

struct stats {
	unsigned count; /* 0: none are offered */
	char names[MAX_STATS][MAX_STAT_NAME];
	uint64_t offsets[MAX_STATS]; /* in the file of each vCPU */
};

/* Learns the counters' names from one vCPU's file (-1: none are offered). Only those that count
 * up and have one value are taken. */
void stats_learn(struct stats *stats, int fd);

/* Adds one vCPU's counters to values[]. */
void stats_add(const struct stats *stats, int fd, uint64_t values[MAX_STATS]);

#endif
