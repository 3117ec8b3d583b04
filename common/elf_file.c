/* Reads ELF programs; see elf_file.h. The file's structures may be unaligned, so they are copied out. */
#include "common/elf_file.h"

#include "common/text.h"

struct header_64 {
	uint8_t magic[4], class, data, ident_version, padding[9];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, segments, sections;
	uint32_t flags;
	uint16_t header_bytes, segment_bytes, segment_count;
	uint16_t section_bytes, section_count, names;
};
_Static_assert(sizeof(struct header_64) == 64, "Elf64_Ehdr");

struct header_32 {
	uint8_t magic[4], class, data, ident_version, padding[9];
	uint16_t type, machine;
	uint32_t version;
	uint32_t entry, segments, sections;
	uint32_t flags;
	uint16_t header_bytes, segment_bytes, segment_count;
	uint16_t section_bytes, section_count, names;
};
_Static_assert(sizeof(struct header_32) == 52, "Elf32_Ehdr");

struct segment_64 {
	uint32_t type, flags;
	uint64_t offset, virtual, physical, file_bytes, memory_bytes, align;
};
_Static_assert(sizeof(struct segment_64) == 56, "Elf64_Phdr");

struct segment_32 {
	uint32_t type, offset, virtual, physical, file_bytes, memory_bytes, flags, align;
};
_Static_assert(sizeof(struct segment_32) == 32, "Elf32_Phdr");

struct note_header { /* the same in 32-bit files */
	uint32_t name_bytes, value_bytes, type;
};

#define CLASS_64	  2
#define LITTLE_ENDIAN_ELF 1
#define NOTE_PHYS32_ENTRY 18

/* Do the bytes [offset, offset + bytes) lie in the file? */
static bool inside(const struct elf_file *file, uint64_t offset, uint64_t bytes)
{
	return offset <= file->bytes && bytes <= file->bytes - offset;
}

const char *elf_open(struct elf_file *file, const uint8_t *at, size_t bytes, uint16_t machine,
		     uint16_t machine32)
{
	struct header_64 wide;
	struct header_32 narrow;
	uint64_t segment_bytes;

	*file = (struct elf_file){ .at = at, .bytes = bytes };
	if (bytes < sizeof(wide) || __builtin_memcmp(at,
						     "\x7f"
						     "ELF",
						     4) != 0)
		return "it is no ELF file";
	__builtin_memcpy(&wide, at, sizeof(wide));
	__builtin_memcpy(&narrow, at, sizeof(narrow));
	file->wide = wide.class == CLASS_64;
	if (wide.data != LITTLE_ENDIAN_ELF)
		return "it is no little-endian ELF file";
	if (wide.machine != (file->wide ? machine : machine32))
		return "it is an ELF file for another machine";
	file->type = wide.type;
	if (file->type != ELF_EXECUTABLE && file->type != ELF_SHARED)
		return "it is no program";
	file->entry = file->wide ? wide.entry : narrow.entry;
	file->table = file->wide ? wide.segments : narrow.segments;
	file->segment_count = file->wide ? wide.segment_count : narrow.segment_count;
	segment_bytes = file->wide ? sizeof(struct segment_64) : sizeof(struct segment_32);
	if ((file->wide ? wide.segment_bytes : narrow.segment_bytes) != segment_bytes ||
	    !file->segment_count || file->segment_count > ELF_MAX_SEGMENTS)
		return "its table of segments can't be used";
	if (!inside(file, file->table, file->segment_count * segment_bytes))
		return "its table of segments lies outside the file";
	return NULL;
}

struct elf_segment elf_segment(const struct elf_file *file, unsigned index)
{
	struct segment_64 wide;
	struct segment_32 narrow;

	if (file->wide) {
		__builtin_memcpy(&wide, file->at + file->table + index * sizeof(wide),
				 sizeof(wide));
		return (struct elf_segment){ wide.type, wide.offset, wide.physical, wide.file_bytes,
					     wide.memory_bytes };
	}
	__builtin_memcpy(&narrow, file->at + file->table + index * sizeof(narrow), sizeof(narrow));
	return (struct elf_segment){ narrow.type, narrow.offset, narrow.physical, narrow.file_bytes,
				     narrow.memory_bytes };
}

bool elf_inside(const struct elf_file *file, const struct elf_segment *segment)
{
	return inside(file, segment->offset, segment->file_bytes);
}

static uint64_t round_up_4(uint64_t value)
{
	return (value + 3) & ~(uint64_t)3;
}

/* A note is a header, the name and the value, each padded to four bytes. */
bool elf_next_note(const struct elf_file *file, const struct elf_segment *segment, uint64_t *at,
		   struct elf_note *note)
{
	uint64_t end = segment->offset + segment->file_bytes, value;
	struct note_header header;

	if (!elf_inside(file, segment) || *at > end || end - *at < sizeof(header))
		return false;
	__builtin_memcpy(&header, file->at + *at, sizeof(header));
	value = *at + sizeof(header) + round_up_4(header.name_bytes);
	if (value + header.value_bytes > end)
		return false;
	*note = (struct elf_note){ .name = (const char *)file->at + *at + sizeof(header),
				   .value = file->at + value,
				   .name_bytes = header.name_bytes,
				   .value_bytes = header.value_bytes,
				   .type = header.type };
	*at = value + round_up_4(header.value_bytes);
	return true;
}

bool elf_note_is(const struct elf_note *note, const char *name, uint32_t type)
{
	size_t bytes = text_length(name) + 1;

	return note->type == type && note->name_bytes == bytes &&
	       __builtin_memcmp(note->name, name, bytes) == 0;
}

uint64_t elf_pvh_entry(const struct elf_note *note)
{
	uint64_t entry = 0;

	if (!elf_note_is(note, "Xen", NOTE_PHYS32_ENTRY) ||
	    (note->value_bytes != 4 && note->value_bytes != 8))
		return 0;
	__builtin_memcpy(&entry, note->value, note->value_bytes);
	return entry;
}
