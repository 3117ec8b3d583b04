/* Reads an arm64 Image's header; see arm64_image.h. */
#include "common/arm64_image.h"

#include <stddef.h>

#define MAGIC	  0x644d5241u /* "ARM\x64" */
#define FLAG_BIG  1
#define MAX_BYTES (1ull << 30)
#define OLD_BYTES ARM64_IMAGE_BOUNDARY

_Static_assert(sizeof(struct arm64_image_header) == 64, "the header");

bool arm64_image_is(const uint8_t *file, uint64_t bytes)
{
	struct arm64_image_header header;

	if (bytes < sizeof(header))
		return false;
	__builtin_memcpy(&header, file, sizeof(header));
	return header.magic == MAGIC;
}

const char *arm64_image_read(struct arm64_image *image, const uint8_t *file, uint64_t bytes)
{
	struct arm64_image_header header;

	if (!arm64_image_is(file, bytes))
		return "the kernel is no arm64 Image (a compressed one must be unpacked first)";
	__builtin_memcpy(&header, file, sizeof(header));
	if (header.flags & FLAG_BIG)
		return "the kernel is big-endian";
	if (!header.image_bytes) {
		/* Before Linux 3.17: text_offset has the kernel's endianness, and the memory needed beyond
		 * the file is not given. */
		header.text_offset = ARM64_IMAGE_OLD_OFFSET;
		header.image_bytes = bytes + OLD_BYTES;
	}
	if (header.text_offset >= ARM64_IMAGE_BOUNDARY || header.text_offset % 8 ||
	    header.image_bytes > MAX_BYTES || bytes > MAX_BYTES)
		return "the kernel's header asks for what cannot be right";
	*image = (struct arm64_image){ header.text_offset, header.image_bytes };
	if (image->memory_bytes < bytes)
		image->memory_bytes = bytes;
	return NULL;
}
