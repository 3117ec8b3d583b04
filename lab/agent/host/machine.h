/* The clock of the agent on a host, and in a VM of a host: nanoseconds. See arch/, whose headers it stands for. */
#pragma once

#include <stdint.h>
#include <time.h>

#define CLOCK	    "monotonic"
#define CLOCK_UNIT  "ns"
#define TRACE_CLOCK "mono"
/* A VM's clock is not the host's and a constant. */
#define TWO_CLOCKS
#define SERIAL	 "/dev/ttyS1" /* the guest's side of the marks */
/* Limits of time are so many times those of the lab, whose clock stands while its host does other work. */
#define SLOWNESS 10

static inline uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
