/* Reads the module that Xen passed to dom0; see kernel_file.h. */
#include "dom0/kernel_file.h"

#include "common/elf_file.h"

static const char *add_piece(struct kernel_file *kernel, const struct elf_file *file,
			     const struct elf_segment *segment, uint64_t lowest, uint64_t highest)
{
	uint64_t end = segment->address + segment->memory_bytes;

	if (!segment->memory_bytes)
		return NULL;
	if (kernel->piece_count == MAX_PIECES)
		return "it has more segments than can be loaded";
	if (!elf_inside(file, segment) || segment->file_bytes > segment->memory_bytes)
		return "a segment lies outside the file";
	if (segment->address < lowest || end > highest || end < segment->address)
		return "a segment does not fit into the domain's memory";
	kernel->pieces[kernel->piece_count++] = (struct kernel_piece){
		.from = file->at + segment->offset,
		.file_bytes = segment->file_bytes,
		.memory_bytes = segment->memory_bytes,
		.address = segment->address,
	};
	if (segment->address < kernel->start)
		kernel->start = segment->address;
	if (end > kernel->end)
		kernel->end = end;
	return NULL;
}

static void read_notes(struct kernel_file *kernel, const struct elf_file *file,
		       const struct elf_segment *segment)
{
	uint64_t at = segment->offset;
	struct elf_note note;

	while (elf_next_note(file, segment, &at, &note))
		if (elf_pvh_entry(&note))
			kernel->pvh_entry = elf_pvh_entry(&note);
}

const char *kernel_file_read(struct kernel_file *kernel, const uint8_t *bytes, size_t length,
			     uint64_t lowest, uint64_t highest)
{
	struct elf_file file;
	const char *wrong = elf_open(&file, bytes, length, ELF_X86_64, 0);

	*kernel = (struct kernel_file){ .start = UINT64_MAX };
	if (wrong)
		return wrong;
	if (file.type != ELF_EXECUTABLE)
		return "it is no program with fixed addresses";
	for (unsigned i = 0; i < file.segment_count; i++) {
		struct elf_segment segment = elf_segment(&file, i);

		if (segment.type == ELF_LOAD)
			wrong = add_piece(kernel, &file, &segment, lowest, highest);
		else if (segment.type == ELF_NOTE)
			read_notes(kernel, &file, &segment);
		if (wrong)
			return wrong;
	}
	if (!kernel->piece_count)
		return "it has nothing to load";
	if (kernel->pvh_entry < kernel->start || kernel->pvh_entry >= kernel->end)
		return "it has no PVH entry (note XEN_ELFNOTE_PHYS32_ENTRY)";
	return NULL;
}
