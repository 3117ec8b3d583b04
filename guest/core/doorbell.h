/*
 * Rings a monitor's doorbell (doorbell=) around the samples of a benchmark, so that it can count
 * what they made it do. Outside the timed part; nothing happens where no doorbell is named.
 */
#ifndef DOORBELL_H
#define DOORBELL_H

#include "posih.h"

/* Pairs of rings with nothing between, from which the monitor learns what rings cost. */
void bell_learn(const struct params *params);

/* Before the first sample, behind all trial batches. */
void bell_begin(const struct params *params, uint64_t index, const char *bench);

/* After the last. */
void bell_end(const struct params *params, uint64_t iterations, uint64_t samples);

#endif
