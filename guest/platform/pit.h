/* A PC's timer, by which the frequency of another clock can be found out. */
#ifndef PIT_H
#define PIT_H

#include <stdint.h>

/* The frequency of rdtimer()'s clock, measured against the 8254 in some 30 ms. 0: there is none. */
uint64_t pit_measure_hz(void);

#endif
