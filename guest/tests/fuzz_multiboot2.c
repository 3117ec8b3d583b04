/*
 * Fuzzes the reading of what a Multiboot2 loader passes, and drawing on the screen of which it tells (libFuzzer, under
 * ASan and UBSan; make -C guest fuzz SECONDS=N).
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "guest/platform/multiboot2.h"
#include "guest/screen/screen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sanitizers find what is drawn outside. */
static void draw(struct frame_buffer buffer)
{
	struct screen screen;
	void *memory;

	if (frame_buffer_bytes(&buffer) > 1 << 20)
		return;
	memory = malloc(frame_buffer_bytes(&buffer));
	assert(memory);
	buffer.address = (uint64_t)memory;
	screen_open(&screen, &buffer);
	if (screen.lines)
		screen_write(&screen, screen.lines - 1, screen.columns ? screen.columns - 1 : 0,
			     "xy", 2);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct multiboot2 info;
	uint32_t total = (uint32_t)size;
	uint64_t sum = 0;
	uint8_t *list;

	if (size < 8 || size > MULTIBOOT2_MAX_BYTES)
		return 0;
	list = malloc(size); /* its own size, so that reads behind it are found */
	assert(list);
	memcpy(list, data, size);
	memcpy(list, &total, 4);
	multiboot2_read(list, &info);
	for (uint32_t i = 0; i < info.memory_count; i++)
		sum += multiboot2_memory_at(&info, i).start;
	if (info.cmdline)
		sum += strlen(info.cmdline);
	if (info.screen.address) {
		assert(info.screen.address + frame_buffer_bytes(&info.screen) >
		       info.screen.address);
		draw(info.screen);
	}
	free(list);
	return sum == 1;
}
