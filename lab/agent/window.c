/* Measured windows; see window.h. */
#include "window.h"

#include <string.h>

#include <unistd.h>

#include "counts.h"
#include "files.h"
#include "machine.h"
#include "say.h"

/* The machine's clock has a tick a nanosecond, and one a instruction (docs/lab.md). Weak: dom0's agent has
 * another one (xen/idle.c). */
__attribute__((weak)) uint64_t window_idle_ticks(void)
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
		clock_loop(passes);
}

uint64_t window_run(struct command *command, uint64_t *ticks)
{
	uint64_t begin, status;

	clock_mark();
	begin = clock_now();
	status = command_run(command, false);
	*ticks = clock_now() - begin;
	clock_mark();
	return status;
}
