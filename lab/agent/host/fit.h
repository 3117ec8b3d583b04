/*
 * Two clocks against each other, by round trips from a host to its VM and back: the line through the best of them,
 * which says what the host's clock was at a time of the VM's. Pure.
 */
#pragma once

#include <stdint.h>

/* Times in ns, each of its own side's clock. */
struct round_trip {
	uint64_t sent, back; /* of the host's */
	uint64_t there;	     /* of the VM's, at some time between */
};

#define FIT_KEPT 64

/* Moves the shortest of a session to the front. Returns how many are kept: none that is more than twice as long as the
 * shortest, for in that one of the sides was not running. */
unsigned fit_keep(struct round_trip *trips, unsigned count);

struct fit {
	uint64_t host_base, vm_base;
	double begin_ns; /* how far the host's clock is ahead at vm_base, the bases left out */
	double drift;	 /* ns a ns */
	/* Half of the longest round trip that was kept: no time is off by more, if both clocks run evenly. */
	uint64_t bound_ns;
};

/* The line through all of them; vm_base is any time near them. NULL, or why there is none. */
const char *fit_line(struct fit *fit, const struct round_trip *trips, unsigned count,
		     uint64_t vm_base);
/* The sum of `count` times of the VM, each less vm_base, as the sum of times of the host, modulo 2^64. */
uint64_t fit_sum(const struct fit *fit, uint64_t sum, uint64_t count);
