/* Loads ELF kernels (common/elf_file.h). Used only before the guest runs. */
#include <string.h>

#include "common/elf_file.h"
#include "vmm/guest_memory.h"

#define WORLDSWITCH_NOTE 1 /* guest/arch/x86_64/boot.S */

static bool load_segment(const struct elf_file *file, const struct elf_segment *segment,
			 uint64_t lowest, const struct memory *memory, struct kernel *kernel)
{
	uint64_t start = segment->address, bytes = segment->memory_bytes;
	uint8_t *to = memory_at(memory, start, bytes);

	if (!bytes)
		return true;
	if (!elf_inside(file, segment) || segment->file_bytes > bytes)
		return fail("a segment lies outside the file");
	if (!to || start < lowest)
		return fail("a segment of %lu KiB at 0x%lx does not fit into the guest's memory "
			    "from 0x%lx on",
			    bytes >> 10, start, lowest);
	memcpy(to, file->at + segment->offset, segment->file_bytes);
	/* Fresh memory is zero; writing zeroes would allocate pages that nothing has touched. */
	if (start < kernel->end)
		memset(to + segment->file_bytes, 0, bytes - segment->file_bytes);
	if (start + bytes > kernel->end)
		kernel->end = start + bytes;
	return true;
}

static void read_notes(const struct elf_file *file, const struct elf_segment *segment,
		       struct kernel *kernel)
{
	uint64_t at = segment->offset;
	struct elf_note note;

	while (elf_next_note(file, segment, &at, &note)) {
		if (elf_pvh_entry(&note))
			kernel->entry = elf_pvh_entry(&note);
		if (elf_note_is(&note, "worldswitch", WORLDSWITCH_NOTE))
			kernel->worldswitch = true;
	}
}

bool elf_load(const uint8_t *bytes, size_t length, uint16_t machine, uint16_t machine32,
	      uint64_t lowest, const struct memory *memory, struct kernel *kernel)
{
	struct elf_file file;
	const char *wrong = elf_open(&file, bytes, length, machine, machine32);

	*kernel = (struct kernel){ .start = file.entry };
	if (wrong)
		return fail("%s", wrong);
	for (unsigned i = 0; i < file.segment_count; i++) {
		struct elf_segment segment = elf_segment(&file, i);

		if (segment.type == ELF_LOAD &&
		    !load_segment(&file, &segment, lowest, memory, kernel))
			return false;
		if (segment.type == ELF_NOTE)
			read_notes(&file, &segment, kernel);
	}
	return kernel->end || fail("it has nothing to load");
}
