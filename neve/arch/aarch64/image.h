/* Linux' arm64 Image header (Documentation/arch/arm64/booting.rst). Pure. */
#ifndef IMAGE_H
#define IMAGE_H

#include <stdint.h>

/* Where the kernel must lie, from memory's start, which is on a boundary of 2 MiB, and how much memory it
 * takes there. NULL, or what is wrong with it. */
const char *image_place(const uint8_t *kernel, uint64_t bytes, uint64_t *offset,
			uint64_t *memory_bytes);

#endif
