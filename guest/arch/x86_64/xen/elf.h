/* Reads an ELF64 kernel with a PVH entry. Pure: works on bytes, and trusts none of them. */
#ifndef ELF_H
#define ELF_H

#include <stddef.h>
#include <stdint.h>

#define ELF_MAX_SEGMENTS 8

/* To be put to physical `address`: the file's bytes, then zeroes up to memory_bytes. */
struct elf_segment {
	const uint8_t *from;
	uint64_t file_bytes, memory_bytes, address;
};

struct elf_kernel {
	struct elf_segment segments[ELF_MAX_SEGMENTS];
	unsigned segment_count;
	uint64_t start, end; /* physical: what the segments take together */
	uint64_t pvh_entry;  /* physical, inside a segment */
};

/* NULL, or what is wrong with the file. Segments may lie in [lowest, highest). */
const char *elf_read(const uint8_t *file, size_t bytes, uint64_t lowest, uint64_t highest,
		     struct elf_kernel *kernel);

#endif
