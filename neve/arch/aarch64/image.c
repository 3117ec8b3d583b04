/* Reads Linux' arm64 Image header (Documentation/arch/arm64/booting.rst); see arch.h. Pure. */
#include "arch.h"

#include <stddef.h>

#define HEADER_BYTES 64
#define TEXT_OFFSET  8
#define IMAGE_SIZE   16
#define MAGIC	     56
#define MAGIC_VALUE  0x644d5241u /* "ARM\x64" */
#define MAX_OFFSET   0x200000ull
#define MAX_BYTES    (1ull << 30)

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = bytes; i--;)
		value = value << 8 | at[i];
	return value;
}

const char *arch_kernel_place(const uint8_t *kernel, uint64_t bytes, uint64_t *offset,
			      uint64_t *memory_bytes)
{
	if (bytes < HEADER_BYTES || number(kernel + MAGIC, 4) != MAGIC_VALUE)
		return "its kernel is no arm64 Image (a compressed one must be unpacked first)";
	*offset = number(kernel + TEXT_OFFSET, 8);
	*memory_bytes = number(kernel + IMAGE_SIZE, 8);
	if (!*memory_bytes)
		return "its kernel's header has no image_size: it is from before Linux 3.17";
	if (*offset >= MAX_OFFSET || *offset % 8 || *memory_bytes > MAX_BYTES || bytes > MAX_BYTES)
		return "its kernel's header asks for what cannot be right";
	if (*memory_bytes < bytes)
		*memory_bytes = bytes;
	return NULL;
}
