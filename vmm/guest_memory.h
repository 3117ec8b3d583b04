/* A guest's memory: where the host keeps which guest-physical address; and a kernel in it. */
#pragma once

#include "vmm/host.h"

#define MAX_REGIONS 2

struct region {
	uint64_t guest, bytes; /* guest-physical */
	uint8_t *host;
};

struct memory {
	struct region regions[MAX_REGIONS]; /* in order of their guest addresses */
	unsigned count;
	uint8_t *base; /* one mapping holds all regions */
	uint64_t bytes;
};

/* Maps memory->bytes, which the regions together have, and gives each region its part. Pages have
 * 4 KiB: with transparent huge pages one touch of the guest would bring 512. */
bool memory_map(struct memory *memory);
/* The host's address of [guest, guest + bytes); NULL where not all of it is memory. */
void *memory_at(const struct memory *memory, uint64_t guest, uint64_t bytes);
/* How many pages of it the host has now, present or swapped. False where that can't be read. */
bool memory_pages(const struct memory *memory, uint64_t *pages);

/* What a loader found. */
struct kernel {
	uint64_t entry;	     /* physical; 0: an ELF file without an entry for PVH */
	uint64_t start;	     /* an ELF file's own entry */
	uint64_t end;	     /* guest-physical, of what the kernel takes */
	uint64_t initrd_end; /* an initial RAM disk must lie below; 0: anywhere */
	const void *setup;   /* a bzImage's setup header, in the file; NULL: an ELF file */
	bool multiboot;	     /* starts by multiboot */
	bool flat;	     /* asked for: the file has no header */
	bool worldswitch;    /* it carries the note that our own guest has */
};

/* Copies the PT_LOAD segments of an ELF file to their physical addresses, which must lie in
 * [lowest, ) and be memory, and zeroes what a segment has beyond its bytes in the file. The machine
 * must be `machine`, or `machine32` with 32-bit structures. An error leaves memory half written. */
bool elf_load(const uint8_t *file, size_t bytes, uint16_t machine, uint16_t machine32,
	      uint64_t lowest, const struct memory *memory, struct kernel *kernel);
