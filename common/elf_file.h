/* ELF programs, little-endian, of 32 or 64 bits (System V ABI, chapters 4 and 5), read in place. Pure, and total:
 * nothing outside of the file's bytes is read. */
#ifndef COMMON_ELF_FILE_H
#define COMMON_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_MAX_SEGMENTS 64

enum elf_type { ELF_EXECUTABLE = 2, ELF_SHARED = 3 };
enum elf_machine { ELF_I386 = 3, ELF_X86_64 = 62, ELF_AARCH64 = 183 };

struct elf_file {
	const uint8_t *at;
	size_t bytes;
	bool wide; /* of 64 bits */
	uint16_t type;
	uint64_t entry, table; /* where the table of segments begins */
	unsigned segment_count;
};

/* Looks at the header. The program must be for `machine` in a file of 64 bits, `machine32` in one of 32; 0: no
 * such. NULL, or what is wrong. */
const char *elf_open(struct elf_file *file, const uint8_t *at, size_t bytes, uint16_t machine,
		     uint16_t machine32);

enum elf_segment_type { ELF_LOAD = 1, ELF_NOTE = 4 };

struct elf_segment {
	uint32_t type;
	uint64_t offset, address; /* in the file; physical */
	uint64_t file_bytes, memory_bytes;
};

struct elf_segment elf_segment(const struct elf_file *file, unsigned index);

/* Do its bytes lie in the file? */
bool elf_inside(const struct elf_file *file, const struct elf_segment *segment);

struct elf_note {
	const char *name;
	const uint8_t *value;
	uint32_t name_bytes, value_bytes, type;
};

/* The next note of a segment of type ELF_NOTE, from offset *at on, which begins as the segment's. False: there is
 * none, or what is there is no note. */
bool elf_next_note(const struct elf_file *file, const struct elf_segment *segment, uint64_t *at,
		   struct elf_note *note);
/* Is it of that name and type? */
bool elf_note_is(const struct elf_note *note, const char *name, uint32_t type);
/* Xen's note of a PVH kernel's entry (xen/include/public/elfnote.h: XEN_ELFNOTE_PHYS32_ENTRY): 0, it is none. */
uint64_t elf_pvh_entry(const struct elf_note *note);

#endif
