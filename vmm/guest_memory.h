/* A guest's memory, guest-physical to host addresses; and loading a kernel into it. */
#pragma once

#include "vmm/host.h"

#define MAX_REGIONS 2

struct region {
	uint64_t guest, bytes; /* guest-physical */
	uint8_t *host;
};

struct memory {
	struct region regions[MAX_REGIONS]; /* sorted by guest address */
	unsigned count;
	uint8_t *base; /* one mapping with all regions */
	uint64_t bytes;
	struct region pmem; /* a file that the guest takes for persistent memory; 0 bytes: none */
};

/* Maps memory->bytes, the sum of the regions, and gives each region its part. Pages are 4 KiB, or `huge`: 2 MiB,
 * where one touch by the guest allocates 512. */
bool memory_map(struct memory *memory, bool huge);
/* Maps a file of whole pages at a guest address, as memory->pmem: what the guest writes to it is not written to
 * the file. */
bool memory_map_file(struct memory *memory, const char *path, uint64_t guest);
/* The host address of [guest, guest + bytes); NULL unless all of it is memory. */
void *memory_at(const struct memory *memory, uint64_t guest, uint64_t bytes);
/* Counts the guest's pages that are in the host's RAM. False: mincore() failed. */
bool memory_pages(const struct memory *memory, uint64_t *pages);

/* A loaded kernel. */
struct kernel {
	uint64_t entry;	     /* physical; 0: an ELF file without an entry for PVH */
	uint64_t start;	     /* an ELF file's ordinary entry */
	uint64_t end;	     /* guest-physical end of the kernel's memory */
	uint64_t initrd_end; /* highest end of the initial RAM disk; 0: no limit */
	const void *setup;   /* a bzImage's setup header, in the file; NULL: another format */
	bool multiboot;	     /* boots by multiboot */
	bool flat;	     /* set by the caller: the file has no header */
	bool worldswitch;    /* has the note of our own guest */
#ifdef ARCH_XEN
	const char *xen;       /* set by the caller: the path of Xen's Image; "": no Xen */
	uint64_t domain_bytes; /* of the image of Xen's domains; 0: no Xen */
#endif
};

/* Copies the PT_LOAD segments of an ELF file to their physical addresses, which must be memory and not
 * below `lowest`; zeroes the part of each segment beyond its bytes in the file. The file must be for
 * `machine`, or with 32-bit structures for `machine32`. After an error, memory may be partly written. */
bool elf_load(const uint8_t *file, size_t bytes, uint16_t machine, uint16_t machine32,
	      uint64_t lowest, const struct memory *memory, struct kernel *kernel);
