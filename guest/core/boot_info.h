/* What the guest keeps of the boot protocol's information. */
#ifndef BOOT_INFO_H
#define BOOT_INFO_H

#include "common/limits.h"

/* Copied before any of the boot protocol's memory is reused. */
struct boot_info {
	const char *protocol; /* "pvh", "multiboot", "multiboot2", "arm64-image" */
	char cmdline[MAX_CMDLINE_BYTES];
	struct memory_range ram[MAX_RANGES];
	unsigned ram_count;
	uint64_t rsdp;	       /* physical address of ACPI's RSDP; 0: not given */
	uint64_t reserved_end; /* the heap must not use memory below */
	uint64_t mapped_end;   /* end of the initially mapped memory; the heap lies below */
};
extern struct boot_info boot_info;

#endif
