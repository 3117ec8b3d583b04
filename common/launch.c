/* The place where the lab stops a machine that has booted; see launch.h. */
#include "common/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define MAX_CPUS 64u
/* CPUs come first in /proc/stat, each with at most 220 bytes. */
#define STAT_BYTES 16384u
/* CPUs are watched for so long at a time. */
#define NAP_HUNDREDTHS 10u
#define MAX_NAPS 600u

/* The lab finds these two by their names. At the stop the first byte says whether to save the state; from there on
 * they are the launch's lines. */
char launch_lines[MAX_LAUNCH_BYTES];
/* The instruction is at an address where nothing else of a machine is ever executed. */
#define POINT 0x5a5a5000
__asm__(".globl launch_point\n.set launch_point, 0x5a5a5000");

#ifdef __x86_64__
static const unsigned char return_to_caller[] = { 0xc3 };
#else
static const unsigned char return_to_caller[] = { 0xc0, 0x03, 0x5f, 0xd6 };
#endif

/* Makes a page with that instruction, and executes it. */
static void pass_point(void)
{
	void (*point)(void);
	void *page = mmap((void *)POINT, PAGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (page != (void *)POINT)
		return;
	memcpy(page, return_to_caller, sizeof(return_to_caller));
	__builtin___clear_cache(page, (char *)page + sizeof(return_to_caller));
	if (mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC) == 0) {
		memcpy(&point, &page, sizeof(point));
		point();
	}
	(void)munmap(page, PAGE_BYTES);
}

/* The idle time of all CPUs, in hundredths of a second; the least of any CPU's since the last call. */
static unsigned long idle_since(void)
{
	static unsigned long before[MAX_CPUS];
	static char text[STAT_BYTES];
	unsigned long idle, waiting, least = ~0ul;
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	char *rest = text, *line;

	if (fd >= 0)
		close(fd);
	text[count < 0 ? 0 : count] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		unsigned cpu;

		if (sscanf(line, "cpu%u %*u %*u %*u %lu %lu", &cpu, &idle, &waiting) != 3 ||
		    cpu >= MAX_CPUS)
			continue;
		if (idle + waiting - before[cpu] < least)
			least = idle + waiting - before[cpu];
		before[cpu] = idle + waiting;
	}
	return least;
}

/* Waits until all CPUs have been idle for a while. When one CPU stops, the others go on until the emulator's own thread
 * has noticed it, which depends on the host: by then they must have nothing to do. A single CPU needs no wait. */
static void await_idle(void)
{
	const struct timespec nap = { .tv_nsec = NAP_HUNDREDTHS * 10000000l };
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) < 2)
		return;
	(void)idle_since();
	for (unsigned naps = 0; naps < MAX_NAPS; naps++) {
		(void)nanosleep(&nap, NULL);
		if (idle_since() >= NAP_HUNDREDTHS - 1)
			return;
	}
	fprintf(stderr, "the CPUs were not idle for a moment in %u s: this state is not exact\n",
		MAX_NAPS * NAP_HUNDREDTHS / 100);
}

char *launch_wait(bool saves)
{
	volatile char *pages = launch_lines;

	/* The lab can write only to pages that are there. */
	for (size_t at = 0; at < sizeof(launch_lines); at += PAGE_BYTES)
		pages[at] = 0;
	pages[0] = saves ? '+' : '-';
	await_idle();
	pass_point();
	if (pages[1] == 0 && (pages[0] == '+' || pages[0] == '-'))
		pages[0] = 0;
	return launch_lines;
}
