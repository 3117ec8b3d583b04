/* Reads little-endian ELF programs of 32 or 64 bits in place (System V ABI, chapters 4 and 5). Pure and
 * total: never reads outside the file. */
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
	bool wide; /* 64-bit */
	uint16_t type;
	uint64_t entry, table; /* table: offset of the program headers */
	unsigned segment_count;
};

/* Checks the header. The program must be for `machine` if the file is 64-bit, for `machine32` if 32-bit (0:
 * refused). Returns NULL, or what is wrong. */
const char *elf_open(struct elf_file *file, const uint8_t *at, size_t bytes, uint16_t machine,
		     uint16_t machine32);

enum elf_segment_type { ELF_LOAD = 1, ELF_NOTE = 4 };

struct elf_segment {
	uint32_t type;
	uint64_t offset, address; /* file offset; physical address */
	uint64_t file_bytes, memory_bytes;
};

struct elf_segment elf_segment(const struct elf_file *file, unsigned index);

/* Is the segment inside the file? */
bool elf_inside(const struct elf_file *file, const struct elf_segment *segment);

struct elf_note {
	const char *name;
	const uint8_t *value;
	uint32_t name_bytes, value_bytes, type;
};

/* Returns the next note of an ELF_NOTE segment; *at starts as the segment's offset. False: there are no
 * more, or the bytes there are not a note. */
bool elf_next_note(const struct elf_file *file, const struct elf_segment *segment, uint64_t *at,
		   struct elf_note *note);
/* Does the note have that name and type? */
bool elf_note_is(const struct elf_note *note, const char *name, uint32_t type);
/* The entry given by Xen's PVH note (xen/include/public/elfnote.h: XEN_ELFNOTE_PHYS32_ENTRY); 0: not such a
 * note. */
uint64_t elf_pvh_entry(const struct elf_note *note);

#endif
