/* The clock of aarch64, and what else the agent calls otherwise there. */
#pragma once

#include <stdint.h>

#define CLOCK	    "cntvct"
#define CLOCK_UNIT  "cntvct_ticks"
#define TRACE_CLOCK "mono"
#define SERIAL	    "/dev/ttyAMA1" /* the guest's side of the marks */
#define SLOWNESS    1

static inline uint64_t clock_now(void)
{
	uint64_t now;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now) : : "memory");
	return now;
}

/* Executes twice as many instructions. */
static inline void clock_loop(uint64_t passes)
{
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(passes) : : "cc");
}

/* Nothing records windows on aarch64. */
static inline void clock_mark(void)
{
}
