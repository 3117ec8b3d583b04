/* Measures one benchmark and tells of it in records. */
#ifndef HARNESS_H
#define HARNESS_H

#include "bench.h"

/* Once, before the first: touches what all rows have in common. */
void harness_init(const struct params *params);

void harness_run(const struct bench *bench, uint64_t index, const struct params *params);

#endif
