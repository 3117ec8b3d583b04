/* The header of Linux' arm64 Image (Documentation/arch/arm64/booting.rst). Pure. */
#ifndef COMMON_ARM64_IMAGE_H
#define COMMON_ARM64_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#define ARM64_IMAGE_BOUNDARY   0x200000ull /* the kernel's memory begins on one */
/* Where a kernel lies that does not say so. */
#define ARM64_IMAGE_OLD_OFFSET 0x80000

struct arm64_image_header {
	uint32_t code[2];
	uint64_t text_offset, image_bytes, flags, reserved[3];
	uint32_t magic, pe;
};

struct arm64_image {
	uint64_t offset;       /* from a boundary of 2 MiB to its first byte */
	uint64_t memory_bytes; /* what it takes from there on */
};

/* Does the file begin with such a header? */
bool arm64_image_is(const uint8_t *file, uint64_t bytes);
/* Where the kernel wants to be. NULL, or what is wrong with it. */
const char *arm64_image_read(struct arm64_image *image, const uint8_t *file, uint64_t bytes);

#endif
