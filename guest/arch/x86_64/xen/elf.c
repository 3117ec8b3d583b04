/*
 * ELF64, little-endian, x86_64 (System V ABI, chapters 4 and 5). What is read is the module
 * that Xen handed to dom0. Structures are copied out, since a file aligns nothing.
 */
#include "elf.h"

#include "common/text.h"

struct header {
	uint8_t magic[4], class, data, ident_version, padding[9];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, program_headers, section_headers;
	uint32_t flags;
	uint16_t header_bytes, program_header_bytes, program_header_count;
	uint16_t section_header_bytes, section_header_count, names;
};
_Static_assert(sizeof(struct header) == 64, "Elf64_Ehdr");

struct program_header {
	uint32_t type, flags;
	uint64_t offset, virtual, physical, file_bytes, memory_bytes, align;
};
_Static_assert(sizeof(struct program_header) == 56, "Elf64_Phdr");

struct note {
	uint32_t name_bytes, value_bytes, type;
};

#define CLASS_64	  2
#define LITTLE_ENDIAN	  1
#define TYPE_EXECUTABLE	  2
#define MACHINE_X86_64	  62
#define SEGMENT_LOAD	  1
#define SEGMENT_NOTE	  4
#define NOTE_PHYS32_ENTRY 18 /* Xen, xen/include/public/elfnote.h */

struct file {
	const uint8_t *at;
	size_t bytes;
};

/* Copies [offset, offset + bytes) of the file; false where it ends before. */
static bool copy_out(const struct file *file, uint64_t offset, void *to, size_t bytes)
{
	uint8_t *byte = to;

	if (offset > file->bytes || bytes > file->bytes - offset)
		return false;
	for (size_t i = 0; i < bytes; i++)
		byte[i] = file->at[offset + i];
	return true;
}

static const char *add_segment(const struct file *file, const struct program_header *header,
			       uint64_t lowest, uint64_t highest, struct elf_kernel *kernel)
{
	uint64_t end = header->physical + header->memory_bytes;

	if (!header->memory_bytes)
		return NULL;
	if (kernel->segment_count == ELF_MAX_SEGMENTS)
		return "it has more segments than can be loaded";
	if (header->offset > file->bytes || header->file_bytes > file->bytes - header->offset ||
	    header->file_bytes > header->memory_bytes)
		return "a segment lies outside the file";
	if (header->physical < lowest || end > highest || end < header->physical)
		return "a segment does not fit into the domain's memory";
	kernel->segments[kernel->segment_count++] = (struct elf_segment){
		.from = file->at + header->offset,
		.file_bytes = header->file_bytes,
		.memory_bytes = header->memory_bytes,
		.address = header->physical,
	};
	if (header->physical < kernel->start)
		kernel->start = header->physical;
	if (end > kernel->end)
		kernel->end = end;
	return NULL;
}

static uint64_t round_up_4(uint64_t value)
{
	return (value + 3) & ~(uint64_t)3;
}

/* Notes: a header, the name and the value, each filled up to four bytes. */
static void read_notes(const struct file *file, const struct program_header *header,
		       struct elf_kernel *kernel)
{
	uint64_t at = header->offset, end = at + header->file_bytes;
	struct note note;

	if (end < at || end > file->bytes)
		return;
	while (at < end && copy_out(file, at, &note, sizeof(note))) {
		uint64_t value_at = at + sizeof(note) + round_up_4(note.name_bytes);
		char name[4] = { 0 };
		uint32_t entry;

		if (note.type == NOTE_PHYS32_ENTRY && note.name_bytes == sizeof(name) &&
		    copy_out(file, at + sizeof(note), name, sizeof(name)) && !name[3] &&
		    text_equal(name, "Xen") && note.value_bytes >= sizeof(entry) &&
		    copy_out(file, value_at, &entry, sizeof(entry)))
			kernel->pvh_entry = entry;
		at = value_at + round_up_4(note.value_bytes);
	}
}

static bool is_kernel(const struct header *header)
{
	return header->magic[0] == 0x7f && header->magic[1] == 'E' && header->magic[2] == 'L' &&
	       header->magic[3] == 'F' && header->class == CLASS_64 &&
	       header->data == LITTLE_ENDIAN && header->type == TYPE_EXECUTABLE &&
	       header->machine == MACHINE_X86_64 &&
	       header->program_header_bytes == sizeof(struct program_header);
}

const char *elf_read(const uint8_t *bytes, size_t length, uint64_t lowest, uint64_t highest,
		     struct elf_kernel *kernel)
{
	struct file file = { .at = bytes, .bytes = length };
	struct header header;

	*kernel = (struct elf_kernel){ .start = UINT64_MAX };
	if (!copy_out(&file, 0, &header, sizeof(header)) || !is_kernel(&header))
		return "it is no ELF64 program for x86_64";
	for (unsigned i = 0; i < header.program_header_count; i++) {
		uint64_t at = header.program_headers + i * sizeof(struct program_header);
		struct program_header segment;
		const char *wrong = NULL;

		if (at < header.program_headers || !copy_out(&file, at, &segment, sizeof(segment)))
			return "its table of segments lies outside the file";
		if (segment.type == SEGMENT_LOAD)
			wrong = add_segment(&file, &segment, lowest, highest, kernel);
		else if (segment.type == SEGMENT_NOTE)
			read_notes(&file, &segment, kernel);
		if (wrong)
			return wrong;
	}
	if (!kernel->segment_count)
		return "it has nothing to load";
	if (kernel->pvh_entry < kernel->start || kernel->pvh_entry >= kernel->end)
		return "it has no PVH entry (note XEN_ELFNOTE_PHYS32_ENTRY)";
	return NULL;
}
