/* Linux' arm64 Image (Documentation/arch/arm64/booting.rst): a header, and a
 * kernel that runs wherever it is loaded; or a flat program without one.
 * Called before the guest runs. */
#include <string.h>

#include "machine.h"

#define MAGIC	  0x644d5241 /* "ARM\x64" */
#define FLAT_ROOM (128ull << 20)
#define FLAG_BIG  1
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

/* As QEMU takes what it does not know (hw/arm/boot.c): the file at 512 KiB, and nothing of ours in the
 * memory behind it up to 128 MiB, or half of all. What the program needs there, nothing says. */
static bool flat_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		      struct kernel *kernel)
{
	uint64_t room = memory->bytes / 2 < FLAT_ROOM ? memory->bytes / 2 : FLAT_ROOM;
	uint8_t *to = memory_at(memory, RAM + OLD_TEXT_OFFSET, bytes);

	if (!bytes || !to || OLD_TEXT_OFFSET + bytes > room)
		return fail("its %zu KiB do not fit into half of the guest's memory: memory= gives "
			    "more",
			    bytes >> 10);
	memcpy(to, file, bytes);
	*kernel = (struct kernel){ .entry = RAM + OLD_TEXT_OFFSET, .end = RAM + room };
	return true;
}

bool image_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		struct kernel *kernel)
{
	struct header header;
	struct note note = { 0 };
	uint64_t offset;
	uint8_t *to;

	if (kernel->flat)
		return flat_load(file, bytes, memory, kernel);
	if (bytes < sizeof(header))
		return fail("it is too short for a kernel");
	memcpy(&header, file, sizeof(header));
	if (header.magic != MAGIC)
		return fail("it is no arm64 Image (uncompressed, as arch/arm64/boot/Image); flat "
			    "takes a program without a header");
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
