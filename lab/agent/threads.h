/* Where the instructions of the measured runs went: how long the VM's threads ran. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/record.h"

#define MAX_THREADS (MAX_CPUS + 2)

struct threads {
	uint64_t ns[MAX_THREADS];
};

/* After the VM was started. */
void threads_setup(void);
/* Reads all. */
void threads_read(struct threads *threads);
/* As kvm_counts_learn() and kvm_counts_add(). */
void threads_learn(const struct threads *begin, const struct threads *end);
void threads_add(struct threads *sum, const struct threads *begin, const struct threads *end,
		 bool marked);
/* The field `threads`, with the rest of `ticks` as `other`. Only on a machine with one CPU: on others the threads
 * run at the same time. */
void threads_send(struct record *record, const struct threads *sum, uint64_t ticks);
