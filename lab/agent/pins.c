/* CPUs of threads; see pins.h. */
#include "pins.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

static bool put(pid_t thread, unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(thread, sizeof(set), &set) == 0;
}

void pins_stay(unsigned cpu)
{
	(void)put(0, cpu);
}

#if SEVERAL_CPUS
void pins_leave(unsigned cpu)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	CPU_CLR(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}
#endif

/* Returns a bit for each pin that is this thread's. */
static unsigned place_thread(pid_t process, const char *thread, const struct place *pins,
			     unsigned count)
{
	char path[64], name[32];
	unsigned placed = 0;
	size_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/comm", process, thread);
	bytes = file_read(path, name, sizeof(name) - 1);
	name[bytes] = '\0';
	for (unsigned i = 0; bytes && i < count; i++)
		if (strncmp(name, pins[i].what, strlen(pins[i].what)) == 0 &&
		    put(atoi(thread), pins[i].cpu))
			placed |= 1u << i;
	return placed;
}

bool pins_place(pid_t process, const struct place *pins, unsigned count)
{
	unsigned placed = 0;
	struct dirent *entry;
	char path[32];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", process);
	threads = opendir(path);
	if (!threads)
		return false;
	while ((entry = readdir(threads)))
		if (*entry->d_name != '.')
			placed |= place_thread(process, entry->d_name, pins, count);
	closedir(threads);
	return placed == (1u << count) - 1;
}

void pins_visit(unsigned cpus)
{
#if SEVERAL_CPUS
	cpu_set_t before;

	(void)sched_getaffinity(0, sizeof(before), &before);
#endif
	for (unsigned cpu = 1; cpu < cpus; cpu++)
		pins_stay(cpu);
	pins_stay(0);
#if SEVERAL_CPUS
	/* The next run is started from here. */
	(void)sched_setaffinity(0, sizeof(before), &before);
#endif
}
