/* Loads Linux's RISC-V Image (Documentation/arch/riscv/boot-image-header.rst), a header and a kernel. Used
 * only before the guest runs. */
#include <string.h>

#include "vmm/guest_note.h"
#include <arch/board.h>

#define MAGIC	  0x05435352u /* "RSC\x05" */
#define FLAG_BIG  1
#define MAX_BYTES (1ull << 30)

struct header {
	uint32_t code[2];
	uint64_t text_offset, image_bytes, flags;
	uint32_t version, reserved[3];
	char old_magic[8];
	uint32_t magic, pe;
};
_Static_assert(sizeof(struct header) == 64, "the header");

static bool header_read(const uint8_t *file, size_t bytes, struct header *header)
{
	if (bytes < sizeof(*header))
		return fail("not a RISC-V Image: the file has only %zu bytes", bytes);
	memcpy(header, file, sizeof(*header));
	if (header->magic != MAGIC)
		return fail("not a RISC-V Image (uncompressed, as arch/riscv/boot/Image)");
	if (header->flags & FLAG_BIG)
		return fail("the kernel is big-endian");
	if (header->text_offset % IMAGE_BOUNDARY || header->text_offset > MAX_BYTES ||
	    !header->image_bytes || header->image_bytes > MAX_BYTES || bytes > MAX_BYTES)
		return fail("the Image header has an impossible offset or size");
	return true;
}

bool image_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		struct kernel *kernel)
{
	struct header header;
	uint64_t entry, needed;

	if (!header_read(file, bytes, &header))
		return false;
	entry = RAM + header.text_offset;
	needed = header.image_bytes < bytes ? bytes : header.image_bytes;
	if (!memory_at(memory, entry, needed))
		return fail(
			"the kernel's %lu KiB do not fit into the guest's memory: raise memory=",
			needed >> 10);
	memcpy(memory_at(memory, entry, bytes), file, bytes);
	*kernel = (struct kernel){ .entry = entry,
				   .end = entry + needed,
				   .worldswitch = guest_note_is(file, bytes, sizeof(header)) };
	return true;
}
