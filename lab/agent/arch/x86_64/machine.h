/* The clock of x86_64, and what else the agent calls otherwise there. */
#pragma once

#include <stdint.h>
#include <x86intrin.h>

#define CLOCK	    "tsc"
#define CLOCK_UNIT  "tsc_ticks"
#define TRACE_CLOCK "x86-tsc"
#define SERIAL	    "/dev/ttyS1" /* the guest's side of the marks */
#define SLOWNESS    1

static inline uint64_t clock_now(void)
{
	return __rdtsc();
}

/* Executes twice as many instructions. */
static inline void clock_loop(uint64_t passes)
{
	__asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(passes) : : "cc");
}

/* A no-operation by which a recording knows the window (plugin/counts.h). Nothing else here executes it. */
static inline void clock_mark(void)
{
	__asm__ volatile("xchg %%bx, %%bx" : : : "memory");
}
