/* What a boot protocol hands over, in the guest's own words. */
#ifndef BOOT_INFO_H
#define BOOT_INFO_H

#include "common/limits.h"

/* What the boot protocol handed over, copied before any of that memory is used again. */
struct boot_info {
	const char *protocol; /* "pvh", "multiboot", "arm64-image" */
	char cmdline[MAX_CMDLINE_BYTES];
	struct memory_range ram[MAX_RANGES];
	unsigned ram_count;
	uint64_t rsdp;	       /* physical address of ACPI's root pointer; 0: not told */
	uint64_t reserved_end; /* memory below it is not for the heap */
	uint64_t mapped_end;   /* the heap lies below: mapped when it is first used */
};
extern struct boot_info boot_info;

#endif
