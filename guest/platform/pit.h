/* A PC's timer, used to measure the frequency of another clock. */
#ifndef PIT_H
#define PIT_H

#include <stdint.h>

/* The frequency of rdtimer()'s clock, measured against the 8254 in about 30 ms. 0: no 8254. */
uint64_t pit_measure_hz(void);

#endif
