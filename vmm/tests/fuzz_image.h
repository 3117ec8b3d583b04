/*
 * Fuzzes an architecture's loader of Images (libFuzzer, under ASan and UBSan; make -C vmm fuzz SECONDS=N): the
 * bytes as they are, and with MAGIC corrected in the header. For fuzz_ARCH.c, which also says HAS_FLAT: whether a
 * program without a header can be asked for.
 */
#pragma once

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <arch/board.h>

#define MAGIC_AT     56
#define HEADER_BYTES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load(const uint8_t *file, size_t bytes, bool flat)
{
	static uint8_t ram[0x400000];
	const struct memory memory = { .regions = { { RAM, sizeof(ram), ram } },
				       .count = 1,
				       .bytes = sizeof(ram) };
	struct kernel kernel = { .flat = flat };

	error_text[0] = 0;
	if (!image_load(file, bytes, &memory, &kernel)) {
		assert(error_text[0]);
		return;
	}
	assert(kernel.entry >= RAM && kernel.entry < kernel.end);
	assert(kernel.end <= RAM + sizeof(ram) && kernel.end - kernel.entry >= bytes);
	assert(!memcmp(ram + (kernel.entry - RAM), file, bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *file = malloc(size + 1); /* exact size, so ASan reports reads past its end */

	assert(file);
	memcpy(file, data, size);
	load(file, size, false);
	if (HAS_FLAT)
		load(file, size, true);
	if (size >= HEADER_BYTES) {
		memcpy(file + MAGIC_AT, MAGIC, 4);
		load(file, size, false);
	}
	free(file);
	return 0;
}
