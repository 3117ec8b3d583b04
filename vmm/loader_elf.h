/* Puts an ELF64 kernel into a guest's memory. Pure: works on bytes, and trusts none of them. */
#ifndef LOADER_ELF_H
#define LOADER_ELF_H

#include <stddef.h>

#include "memory.h"

struct elf_kernel {
	uint64_t pvh_entry;  /* physical, of the note XEN_ELFNOTE_PHYS32_ENTRY; 0: no such note */
	uint64_t start, end; /* guest-physical: what the kernel takes */
	bool worldswitch;    /* it carries the note that our own guest has */
};

/*
 * Copies the PT_LOAD segments of `file` to their physical addresses, which must lie in [lowest, )
 * and be memory, and zeroes what a segment has beyond its bytes in the file. `machine` is the
 * ELF's e_machine that this host runs. An error leaves memory half written.
 */
bool elf_load(const uint8_t *file, size_t bytes, uint16_t machine, uint64_t lowest,
	      const struct memory *memory, struct elf_kernel *kernel, struct error *error);

#endif
