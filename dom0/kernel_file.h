/* The kernel that dom0 loads into its domain: an ELF64 file with a PVH entry. Pure. */
#ifndef KERNEL_FILE_H
#define KERNEL_FILE_H

#include <stddef.h>
#include <stdint.h>

#define MAX_PIECES 8

/* Loaded at physical `address`: the file's bytes, then zeroes up to memory_bytes. */
struct kernel_piece {
	const uint8_t *from;
	uint64_t file_bytes, memory_bytes, address;
};

struct kernel_file {
	struct kernel_piece pieces[MAX_PIECES];
	unsigned piece_count;
	uint64_t start, end; /* physical; bounds of all pieces */
	uint64_t pvh_entry;  /* physical, inside a piece */
};

/* Returns NULL, or what is wrong with the file. Pieces must lie in [lowest, highest). */
const char *kernel_file_read(struct kernel_file *kernel, const uint8_t *file, size_t bytes,
			     uint64_t lowest, uint64_t highest);

#endif
