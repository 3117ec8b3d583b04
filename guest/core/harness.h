/* Measures one benchmark and tells of it in records. */
#ifndef HARNESS_H
#define HARNESS_H

#include "bench.h"

/* Once, before the first: learns how much two reads of the clock spread. */
void harness_init(const struct params *params);

void harness_run(const struct bench *bench, uint64_t index, const struct params *params);

#endif
