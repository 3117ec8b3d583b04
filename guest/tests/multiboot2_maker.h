/* Makes lists of Multiboot2, for tests. */
#ifndef MULTIBOOT2_MAKER_H
#define MULTIBOOT2_MAKER_H

#include <stdint.h>
#include <string.h>

struct list {
	uint8_t bytes[4096];
	uint32_t used;
};

static inline void list_start(struct list *list)
{
	*list = (struct list){ .used = 8 };
}

static inline void list_tag(struct list *list, uint32_t type, const void *content, uint32_t bytes)
{
	uint32_t size = 8 + bytes;

	memcpy(list->bytes + list->used, &type, 4);
	memcpy(list->bytes + list->used + 4, &size, 4);
	if (bytes)
		memcpy(list->bytes + list->used + 8, content, bytes);
	list->used += (size + 7) & ~7u;
}

/* The end tag, and the size of all. */
static inline void list_end(struct list *list)
{
	list_tag(list, 0, NULL, 0);
	memcpy(list->bytes, &list->used, 4);
}

/* A frame buffer's tag (specification 2.0, 3.6.12); `kind` 1: pixels with the colours given, 2: text. */
struct screen_tag {
	uint64_t address;
	uint32_t pitch, width, height;
	uint8_t bits, kind;
	uint16_t reserved;
	uint8_t colours[6]; /* lowest bit and number of bits of red, green, blue */
} __attribute__((packed));

#endif
