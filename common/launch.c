/* The place where the lab stops a machine that has booted; see launch.h. */
#include "common/launch.h"

#include <sched.h>
#include <time.h>

#define PAGE_BYTES 4096u

/* The lab finds these two by their names. At the stop the first byte says whether to save the state; from there on
 * they are the launch's lines. */
void launch_point(void);
char launch_lines[MAX_LAUNCH_BYTES];

/* At an address where nothing else of a machine is ever executed (the Makefiles place the section). */
__attribute__((noinline, section(".launch"))) void launch_point(void)
{
	__asm__ volatile("" ::: "memory");
}

/* QEMU does not save the timers of ARM's EL2, which a kernel there uses: what they were set to would never happen. A
 * sleep that has ended already makes the kernel set the timer of this CPU anew. */
static void set_timer(void)
{
	const struct timespec past = { .tv_nsec = 1 };

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL);
}

static void set_timers(void)
{
	cpu_set_t before, one;

	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return;
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (CPU_ISSET(cpu, &before) && sched_setaffinity(0, sizeof(one), &one) == 0)
			set_timer();
	}
	(void)sched_setaffinity(0, sizeof(before), &before);
}

char *launch_wait(bool saves)
{
	volatile char *pages = launch_lines;
	void (*volatile point)(void) = launch_point;

	/* The lab can write only to pages that are there. */
	for (size_t at = 0; at < sizeof(launch_lines); at += PAGE_BYTES)
		pages[at] = 0;
	pages[0] = saves ? '+' : '-';
	point();
	set_timers();
	if (pages[1] == 0 && (pages[0] == '+' || pages[0] == '-'))
		pages[0] = 0;
	return launch_lines;
}
