/* Linux' arm64 Image (Documentation/arch/arm64/booting.rst): a header, and a
 * kernel that runs wherever it is loaded. Called before the guest runs. */
#include <string.h>

#include "machine.h"

#define MAGIC	 0x644d5241 /* "ARM\x64" */
#define FLAG_BIG 1
#define OLD_TEXT_OFFSET \
	0x80000 /* where image_bytes is 0: before Linux 3.17                         \
           */

struct header {
	uint32_t code[2];
	uint64_t text_offset, image_bytes, flags, reserved[3];
	uint32_t magic, pe;
};

/* The ELF note that our own guest has, which lies behind its header. */
struct note {
	uint32_t name_bytes, bytes, type;
	char name[12];
};

bool image_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		struct kernel *kernel)
{
	struct header header;
	struct note note = { 0 };
	uint64_t offset;
	uint8_t *to;

	if (bytes < sizeof(header))
		return fail("it is too short for a kernel");
	memcpy(&header, file, sizeof(header));
	if (header.magic != MAGIC)
		return fail("it is no arm64 Image (uncompressed, as arch/arm64/boot/Image)");
	if (header.flags & FLAG_BIG)
		return fail("it is a big-endian kernel");
	offset = header.image_bytes ? header.text_offset : OLD_TEXT_OFFSET;
	if (header.image_bytes < bytes)
		header.image_bytes = bytes; /* an old one does not say what it needs */
	if (offset >= KERNEL_BOUNDARY || header.image_bytes > memory->bytes ||
	    !memory_at(memory, RAM + offset, header.image_bytes))
		return fail("its %lu KiB do not fit into the guest's memory: memory= gives more",
			    header.image_bytes >> 10);
	to = memory_at(memory, RAM + offset, bytes);
	memcpy(to, file, bytes);
	*kernel =
		(struct kernel){ .entry = RAM + offset, .end = RAM + offset + header.image_bytes };
	if (bytes >= sizeof(header) + sizeof(note))
		memcpy(&note, file + sizeof(header), sizeof(note));
	kernel->worldswitch = note.name_bytes == sizeof(note.name) &&
			      memcmp(note.name, "worldswitch", sizeof(note.name)) == 0;
	return true;
}
