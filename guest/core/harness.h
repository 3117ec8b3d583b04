/* Measures one benchmark and sends its records. */
#ifndef HARNESS_H
#define HARNESS_H

#include "bench.h"

/* Call it once before the first row: warms up what all rows use. */
void harness_init(const struct params *params);

void harness_run(const struct bench *bench, uint64_t index, const struct params *params);

#endif
