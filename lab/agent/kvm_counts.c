/* KVM's counters; see kvm_counts.h. */
#include "kvm_counts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include "common/exits.h"
#include "common/reasons.h"
#include "counts.h"
#include "files.h"
#include "paths.h"
#include "say.h"

static char *names[MAX_COUNTERS];
static unsigned counters;
static uint64_t own[MAX_COUNTERS];
static bool own_known;

/* Opened anew each time: these files can't be read from their beginning again. */
static bool read_one(const char *name, uint64_t *value)
{
	char path[128], text[64];

	snprintf(path, sizeof(path), STATISTICS "/%.64s", name);
	return counts_number(text, file_read(path, text, sizeof(text)), value);
}

static void add_counter(const char *name)
{
	uint64_t value;

	if (counters == MAX_COUNTERS || !read_one(name, &value))
		return;
	names[counters] = strdup(name);
	if (names[counters])
		counters++;
}

void kvm_counts_setup(void)
{
	struct dirent **entries = NULL;
	int count;

	(void)mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	tracefs_mount();
	count = scandir(STATISTICS, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		if (entries[i]->d_type == DT_REG)
			add_counter(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	if (counters == 0)
		say("KVM's counters are not in " STATISTICS ": no exits are counted");
}

void kvm_counts_read(struct kvm_counts *counts)
{
	for (unsigned i = 0; i < counters; i++)
		if (!read_one(names[i], &counts->values[i]))
			counts->values[i] = 0;
}

void kvm_counts_learn(const struct kvm_counts *begin, const struct kvm_counts *end)
{
	struct kvm_counts passed = *end;

	exits_subtract(passed.values, begin->values, counters);
	exits_learn(own, passed.values, counters, &own_known);
}

void kvm_counts_add(struct kvm_counts *sum, const struct kvm_counts *begin,
		    const struct kvm_counts *end, bool marked)
{
	struct kvm_counts passed = *end;

	exits_subtract(passed.values, begin->values, counters);
	if (marked)
		exits_subtract(passed.values, own, counters);
	for (unsigned i = 0; i < counters; i++)
		sum->values[i] += passed.values[i];
}

static void name_of(const void *unused, unsigned counter, struct text *out)
{
	(void)unused;
	text_printf(out, "%s", names[counter]);
}

void kvm_counts_send(struct record *record, const struct kvm_counts *sum)
{
	exits_counts(record, "kvm", sum->values, counters, name_of, NULL);
}
