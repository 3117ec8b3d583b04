/* Idle CPUs; see idle.h. */
#include "common/idle.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_CPUS       64u
/* CPUs come first in /proc/stat, each with at most 220 bytes. */
#define STAT_BYTES     16384u
/* Each nap is a tenth of a second, and all naps are a minute. */
#define NAP_HUNDREDTHS 10u
#define MAX_NAPS       600u

/* Field numbers in a CPU's line. The CPU's own number is field 0. */
#define IDLE_FIELD    4u
#define WAITING_FIELD 5u

/* Parses a CPU's line of /proc/stat: its number, and its idle time with the time of waiting for a disk. Returns false for
 * other lines. scanf() would make a static program a tenth larger. */
static bool cpu_line(const char *line, unsigned long *cpu, unsigned long *idle)
{
	/* "cpu" without a number is the sum of all. */
	if (strncmp(line, "cpu", 3) != 0 || line[3] < '0' || line[3] > '9')
		return false;
	*idle = 0;
	line += 3;
	for (unsigned field = 0; field <= WAITING_FIELD; field++) {
		char *end;
		unsigned long value = strtoul(line, &end, 10);

		if (end == line)
			return false;
		if (field == 0)
			*cpu = value;
		else if (field >= IDLE_FIELD)
			*idle += value;
		line = end;
	}
	return *cpu < MAX_CPUS;
}

unsigned long idle_since(char *text)
{
	static unsigned long before[MAX_CPUS];
	unsigned long cpu, idle, least = ULONG_MAX;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (!cpu_line(line, &cpu, &idle))
			continue;
		if (idle - before[cpu] < least)
			least = idle - before[cpu];
		before[cpu] = idle;
	}
	return least;
}

/* Reads /proc/stat and calls idle_since(). Returns 0 if the file can't be read. */
static unsigned long idle_until_now(void)
{
	char text[STAT_BYTES];
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (count <= 0)
		return 0;
	text[count] = '\0';
	return idle_since(text);
}

bool idle_await(void)
{
	const struct timespec nap = { .tv_nsec = NAP_HUNDREDTHS * 10000000l };
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) < 2)
		return true;
	(void)idle_until_now();
	for (unsigned naps = 0; naps < MAX_NAPS; naps++) {
		(void)nanosleep(&nap, NULL);
		/* The kernel rounds down. */
		if (idle_until_now() >= NAP_HUNDREDTHS - 1)
			return true;
	}
	return false;
}
