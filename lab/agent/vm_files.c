/* The VM's folder; see vm_files.h. */
#include "vm_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "counts.h"
#include "files.h"
#include "guest.h"
#include "paths.h"

/* The folder's name is PID-DESCRIPTOR. */
static bool is_vm(const struct dirent *entry)
{
	char *end;

	return strtol(entry->d_name, &end, 10) == guest_process() && *end == '-';
}

/* Reads a file of a vCPU. Returns its bytes. */
static size_t read_of_vcpu(unsigned vcpu, const char *name, char *text, size_t size)
{
	DIR *folder = opendir(STATISTICS);
	struct dirent *entry = NULL;
	char path[384];
	size_t bytes = 0;

	while (folder && (entry = readdir(folder)) && !is_vm(entry))
		;
	if (entry) {
		snprintf(path, sizeof(path), STATISTICS "/%s/vcpu%u/%s", entry->d_name, vcpu, name);
		bytes = file_read(path, text, size);
	}
	if (folder)
		closedir(folder);
	return bytes;
}

bool vm_files_thread(unsigned vcpu, uint64_t *tid)
{
	char text[32];
	size_t bytes = read_of_vcpu(vcpu, "pid", text, sizeof(text));

	return counts_number(text, bytes, tid);
}

bool vm_files_tsc_offset(uint64_t *offset)
{
	char text[32];
	size_t bytes = read_of_vcpu(0, "tsc-offset", text, sizeof(text));

	return counts_signed(text, bytes, offset);
}
