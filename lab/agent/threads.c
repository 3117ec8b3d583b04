/* The VM's threads; see threads.h. The scheduler's clock has a tick a nanosecond, as the machine's
 * (docs/lab.md). */
#include "threads.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/exits.h"
#include "counts.h"
#include "files.h"
#include "guest.h"
#include "vm_files.h"

/* Rows behind those of the vCPUs. */
enum { VHOST, QEMU, BESIDE };

static uint64_t vcpus[MAX_CPUS], own[MAX_THREADS];
static unsigned vcpu_count;
static bool own_known;

/* The number in QEMU's name of a vCPU's thread, `CPU 0/KVM`. */
static bool is_vcpu(const char *folder, unsigned *number)
{
	char path[384], name[64], end[8];
	size_t bytes;

	snprintf(path, sizeof(path), "%s/comm", folder);
	bytes = file_read(path, name, sizeof(name) - 1);
	name[bytes] = '\0';
	return sscanf(name, "CPU %u/%4s", number, end) == 2 && strcmp(end, "KVM") == 0 &&
	       *number < MAX_CPUS;
}

/* Where KVM does not say which threads are vCPUs, as on aarch64, QEMU's names do. */
static void find_by_name(void)
{
	char path[64], folder[320];
	struct dirent *entry;
	unsigned number;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", guest_process());
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		snprintf(folder, sizeof(folder), "%s/%s", path, entry->d_name);
		if (!is_vcpu(folder, &number))
			continue;
		vcpus[number] = strtoul(entry->d_name, NULL, 10);
		if (number >= vcpu_count)
			vcpu_count = number + 1;
	}
	if (tasks)
		closedir(tasks);
}

void threads_setup(void)
{
	while (vcpu_count < MAX_CPUS && vm_files_thread(vcpu_count, &vcpus[vcpu_count]))
		vcpu_count++;
	if (vcpu_count == 0)
		find_by_name();
}

/* The row of a thread of the VM's process. */
static unsigned row_of(const char *folder, uint64_t tid)
{
	char path[384], name[64];

	for (unsigned i = 0; i < vcpu_count; i++)
		if (vcpus[i] == tid)
			return i;
	snprintf(path, sizeof(path), "%s/comm", folder);
	if (file_read(path, name, sizeof(name)) >= 6 && memcmp(name, "vhost-", 6) == 0)
		return vcpu_count + VHOST;
	return vcpu_count + QEMU;
}

void threads_read(struct threads *threads)
{
	char path[64], folder[320], file[384], text[128];
	struct dirent *entry;
	DIR *tasks;

	*threads = (struct threads){ .ns = { 0 } };
	if (!guest_process())
		return;
	snprintf(path, sizeof(path), "/proc/%d/task", guest_process());
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		uint64_t tid = strtoul(entry->d_name, NULL, 10), ns;

		snprintf(folder, sizeof(folder), "%s/%s", path, entry->d_name);
		snprintf(file, sizeof(file), "%s/schedstat", folder);
		if (tid && counts_first(text, file_read(file, text, sizeof(text)), &ns))
			threads->ns[row_of(folder, tid)] += ns;
	}
	if (tasks)
		closedir(tasks);
}

void threads_learn(const struct threads *begin, const struct threads *end)
{
	struct threads passed = *end;

	exits_subtract(passed.ns, begin->ns, MAX_THREADS);
	exits_learn(own, passed.ns, MAX_THREADS, &own_known);
}

void threads_add(struct threads *sum, const struct threads *begin, const struct threads *end,
		 bool marked)
{
	struct threads passed = *end;

	exits_subtract(passed.ns, begin->ns, MAX_THREADS);
	if (marked)
		exits_subtract(passed.ns, own, MAX_THREADS);
	for (unsigned i = 0; i < MAX_THREADS; i++)
		sum->ns[i] += passed.ns[i];
}

static void name_of(const void *unused, unsigned row, struct text *out)
{
	static const char *const beside[] = { "vhost", "qemu", "other" };

	(void)unused;
	if (row < vcpu_count)
		text_printf(out, "vcpu%u", row);
	else
		text_printf(out, "%s", beside[row - vcpu_count]);
}

void threads_send(struct record *record, const struct threads *sum, uint64_t ticks)
{
	uint64_t rows[MAX_THREADS + 1], sum_of_rows = 0;
	unsigned count = vcpu_count + BESIDE, most = 0;

	if (vcpu_count == 0 || sysconf(_SC_NPROCESSORS_ONLN) != 1)
		return;
	for (unsigned i = 0; i < count; i++) {
		rows[i] = sum->ns[i];
		sum_of_rows += rows[i];
		if (rows[i] > rows[most])
			most = i;
	}
	/* A vCPU that runs the workload also spins at its marks, outside of the window, and not always as long. */
	if (sum_of_rows > ticks) {
		rows[most] -= sum_of_rows - ticks < rows[most] ? sum_of_rows - ticks : rows[most];
		sum_of_rows = ticks;
	}
	rows[count] = ticks - sum_of_rows;
	exits_counts(record, "threads", rows, count + 1, name_of, NULL);
}
