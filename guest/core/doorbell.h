/*
 * Rings a monitor's doorbell (doorbell=) around the samples of a benchmark, so that the monitor can count
 * the exits in between. Outside the timed part; does nothing without doorbell=.
 */
#ifndef DOORBELL_H
#define DOORBELL_H

#include "posih.h"

/* Rings pairs with nothing in between, from which the monitor learns the cost of the rings. */
void bell_learn(const struct params *params);

/* Before the first sample, after all trial batches. */
void bell_begin(const struct params *params, uint64_t index, const char *bench);

/* After the last sample. */
void bell_end(const struct params *params, uint64_t iterations, uint64_t samples);

#endif
