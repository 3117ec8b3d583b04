/* The header of Linux' arm64 Image (Documentation/arch/arm64/booting.rst). Pure. */
#ifndef COMMON_ARM64_IMAGE_H
#define COMMON_ARM64_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#define ARM64_IMAGE_BOUNDARY   0x200000ull /* the kernel's memory is aligned to this */
/* The offset of kernels whose header does not give it. */
#define ARM64_IMAGE_OLD_OFFSET 0x80000

struct arm64_image_header {
	uint32_t code[2];
	uint64_t text_offset, image_bytes, flags, reserved[3];
	uint32_t magic, pe;
};

struct arm64_image {
	uint64_t offset;       /* of its first byte, from a 2 MiB boundary */
	uint64_t memory_bytes; /* needed from there on */
};

/* Does the file begin with an Image header? */
bool arm64_image_is(const uint8_t *file, uint64_t bytes);
/* Fills *image. Returns NULL, or what is wrong. */
const char *arm64_image_read(struct arm64_image *image, const uint8_t *file, uint64_t bytes);

#endif
