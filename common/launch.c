/* The place where the lab stops a machine that has booted; see launch.h. */
#include "common/launch.h"

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

char *launch_wait(bool saves)
{
	volatile char *pages = launch_lines;
	void (*volatile point)(void) = launch_point;

	/* The lab can write only to pages that are there. */
	for (size_t at = 0; at < sizeof(launch_lines); at += PAGE_BYTES)
		pages[at] = 0;
	pages[0] = saves ? '+' : '-';
	point();
	if (pages[1] == 0 && (pages[0] == '+' || pages[0] == '-'))
		pages[0] = 0;
	return launch_lines;
}
