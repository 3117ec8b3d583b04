/* Loads Linux's arm64 Image (Documentation/arch/arm64/booting.rst), a header and a position-independent
 * kernel; or a flat program without a header. Used only before the guest runs. */
#include <string.h>

#include "common/arm64_image.h"
#include "vmm/guest_note.h"
#include <arch/board.h>

#define FLAT_ROOM (128ull << 20)

/* Like QEMU's loading of unknown files (hw/arm/boot.c): the file at 512 KiB. How much memory the program
 * needs is unknown, so nothing else is put below 128 MiB, or half of a smaller memory. */
static bool flat_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		      struct kernel *kernel)
{
	uint64_t room = memory->bytes / 2 < FLAT_ROOM ? memory->bytes / 2 : FLAT_ROOM;
	uint8_t *to = memory_at(memory, RAM + ARM64_IMAGE_OLD_OFFSET, bytes);

	if (!bytes || !to || ARM64_IMAGE_OLD_OFFSET + bytes > room)
		return fail("its %zu KiB do not fit into half of the guest's memory: raise memory=",
			    bytes >> 10);
	memcpy(to, file, bytes);
	*kernel = (struct kernel){ .entry = RAM + ARM64_IMAGE_OLD_OFFSET, .end = RAM + room };
	return true;
}

bool image_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		struct kernel *kernel)
{
	struct arm64_image image;
	uint64_t entry;
	const char *wrong;

	if (kernel->flat)
		return flat_load(file, bytes, memory, kernel);
	if (!arm64_image_is(file, bytes))
		return fail("it is no arm64 Image (uncompressed, as arch/arm64/boot/Image); use "
			    "flat for a program without a header");
	wrong = arm64_image_read(&image, file, bytes);
	if (wrong)
		return fail("%s", wrong);
	entry = RAM + image.offset;
	if (!memory_at(memory, entry, image.memory_bytes))
		return fail("its %lu KiB do not fit into the guest's memory: raise memory=",
			    image.memory_bytes >> 10);
	memcpy(memory_at(memory, entry, bytes), file, bytes);
	*kernel = (struct kernel){ .entry = entry, .end = entry + image.memory_bytes };
	kernel->worldswitch = guest_note_is(file, bytes, sizeof(struct arm64_image_header));
	return true;
}
