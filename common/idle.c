/* Idle CPUs; see idle.h. */
#include "common/idle.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_CPUS       64u
/* CPUs come first in /proc/stat, each with at most 220 bytes. */
#define STAT_BYTES     16384u
#define LOADAVG_BYTES  128u
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

unsigned long idle_running(const char *text)
{
	/* The first slash is in the fourth field: those that run, and all. */
	const char *slash = strchr(text, '/'), *digits = slash;

	while (digits && digits > text && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	return digits == slash ? 0 : strtoul(digits, NULL, 10);
}

/* Reads a file of the kernel's. Returns false if it can't be read or is empty. */
static bool kernel_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	if (count <= 0)
		return false;
	text[count] = '\0';
	return true;
}

/* Returns 0 if the file can't be read. */
static unsigned long idle_until_now(void)
{
	char text[STAT_BYTES];

	return kernel_text("/proc/stat", text, sizeof(text)) ? idle_since(text) : 0;
}

static bool runs_alone(void)
{
	char text[LOADAVG_BYTES];

	return kernel_text("/proc/loadavg", text, sizeof(text)) && idle_running(text) == 1;
}

bool idle_await(void)
{
	const struct timespec nap = { .tv_nsec = NAP_HUNDREDTHS * 10000000l };

	/* Not the CPUs that the caller may run on: a host's agent stays on one of several. */
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return true;
	(void)idle_until_now();
	for (unsigned naps = 0; naps < MAX_NAPS; naps++) {
		(void)nanosleep(&nap, NULL);
		/* The kernel rounds idle times down, so a CPU may have been busy for a hundredth: even now. */
		if (idle_until_now() >= NAP_HUNDREDTHS - 1 && runs_alone())
			return true;
	}
	return false;
}
