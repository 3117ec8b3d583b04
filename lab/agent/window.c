/* Measured windows; see window.h. */
#include "window.h"

#include <string.h>
#include <x86intrin.h>

#include <unistd.h>

#include "counts.h"
#include "files.h"
#include "say.h"

/* The machine's clock has a tick a nanosecond, and one a instruction (docs/lab.md). */
uint64_t window_idle_ticks(void)
{
	static char text[1 << 17];
	uint64_t idle_ns;
	size_t bytes;

	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		return 0;
	bytes = file_read("/proc/timer_list", text, sizeof(text));
	if (bytes == sizeof(text) || !counts_idle_ns(text, bytes, &idle_ns))
		give_up("/proc/timer_list does not say how long the machine was idle");
	return idle_ns;
}

void window_pad(uint64_t instructions)
{
	uint64_t passes = instructions / 2;

	if (passes)
		__asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(passes) : : "cc");
}

/* A no-operation by which a recording knows the window (plugin/counts.h). Nothing else here executes it. */
static inline void mark(void)
{
	__asm__ volatile("xchg %%bx, %%bx" : : : "memory");
}

uint64_t window_run(struct command *command, uint64_t *ticks)
{
	uint64_t begin, status;

	mark();
	begin = __rdtsc();
	status = command_run(command, false);
	*ticks = __rdtsc() - begin;
	mark();
	return status;
}
