/* Floating point, which only its own benchmarks use. */
#ifndef FLOATING_POINT_H
#define FLOATING_POINT_H

#include <stddef.h>
#include <stdint.h>

/* Lets the guest's exception level use floating point, until fp_end(). NULL, or why it can't. */
const char *fp_begin(void);
void fp_end(void);

/* Gives D0 to D31 values of their own, but D0 that of D1, as the timed loops do. */
void fp_fill(void);

/* How many of them have other values now. */
uint64_t fp_changed(void);

#endif
