/* Reads the list of Multiboot2; see multiboot2.h. No size in it is trusted. */
#include "guest/platform/multiboot2.h"

#include "common/limits.h"

/* Types of tags (specification 2.0, 3.6). */
enum {
	TAG_END = 0,
	TAG_CMDLINE = 1,
	TAG_MEMORY = 6,
	TAG_SCREEN = 8,
	TAG_RSDP_OLD = 14,
	TAG_RSDP_NEW = 15
};

#define TAG_ALIGN      8
#define HEADER_BYTES   8 /* of a tag: type and size; of the list: size and 0 */
#define MEMORY_HEADER  8 /* of a memory map: bytes of an entry, and a version */
#define RSDP_OLD_BYTES 20
#define SCREEN_LEAST   22 /* up to the kind of screen */
#define SCREEN_COLOURS 24
#define COLOUR_BYTES   6
#define KIND_RGB       1
#define KIND_TEXT      2

/* Addresses above are taken by the window (core/paging.c). */
#define SCREEN_END	(64 * 1024 * GIB)
#define SCREEN_MAX	16384 /* pixels in either direction */
#define SCREEN_MAX_LINE (16 * SCREEN_MAX)
/* Text modes lie in the memory of the VGA. */
#define VGA_START	0xa0000
#define VGA_END		0xc0000

static uint32_t u32_at(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t u64_at(const uint8_t *at)
{
	return u32_at(at) | (uint64_t)u32_at(at + 4) << 32;
}

static void read_cmdline(const uint8_t *text, uint32_t bytes, struct multiboot2 *to)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (!text[i]) {
			to->cmdline = (const char *)text;
			return;
		}
}

static void read_memory(const uint8_t *map, uint32_t bytes, struct multiboot2 *to)
{
	uint32_t entry_bytes;

	if (bytes < MEMORY_HEADER)
		return;
	entry_bytes = u32_at(map);
	if (entry_bytes < sizeof(struct multiboot2_memory))
		return;
	to->memory = map + MEMORY_HEADER;
	to->memory_entry_bytes = entry_bytes;
	to->memory_count = (bytes - MEMORY_HEADER) / entry_bytes;
}

struct multiboot2_memory multiboot2_memory_at(const struct multiboot2 *info, uint32_t index)
{
	const uint8_t *entry = info->memory + (uint64_t)index * info->memory_entry_bytes;

	return (struct multiboot2_memory){
		.start = u64_at(entry),
		.bytes = u64_at(entry + 8),
		.type = u32_at(entry + 16),
	};
}

/* ACPI 1.0's root pointer is shorter: the rest stays 0, so that no XSDT is found in it. A new one replaces an
 * old one, in either order. */
static void read_rsdp(const uint8_t *rsdp, uint32_t bytes, uint32_t type, struct multiboot2 *to)
{
	uint32_t size = type == TAG_RSDP_NEW ? RSDP_BYTES : RSDP_OLD_BYTES;

	if (bytes < size || (type == TAG_RSDP_OLD && to->has_rsdp))
		return;
	for (uint32_t i = 0; i < size; i++)
		to->rsdp[i] = rsdp[i];
	to->has_rsdp = true;
}

/* The bits of one colour: its lowest bit and how many, at `field`. */
static uint32_t colour_mask(const uint8_t *field, uint32_t bits)
{
	if (!field[1] || field[1] > 8 || field[0] + field[1] > bits)
		return 0;
	return ((1u << field[1]) - 1) << field[0];
}

static void read_pixels(const uint8_t *at, uint32_t bytes, uint32_t bits, struct frame_buffer *to)
{
	const uint8_t *colours = at + SCREEN_COLOURS;

	if (bytes < SCREEN_COLOURS + COLOUR_BYTES || bits < 15 || bits > 32)
		return;
	to->pixel_bytes = (bits + 7) / 8;
	for (unsigned i = 0; i < 3; i++)
		to->white |= colour_mask(colours + 2 * i, bits);
}

static bool screen_is_possible(const struct frame_buffer *screen)
{
	uint64_t cell_bytes = screen->text ? 2 : screen->pixel_bytes;
	uint64_t size = frame_buffer_bytes(screen);

	if (!screen->width || screen->width > SCREEN_MAX || !screen->height ||
	    screen->height > SCREEN_MAX)
		return false;
	if (screen->pitch < screen->width * cell_bytes || screen->pitch > SCREEN_MAX_LINE)
		return false;
	if (screen->text)
		return screen->address >= VGA_START && screen->address < VGA_END &&
		       screen->address + size <= VGA_END;
	return screen->white && screen->address >= MIB && screen->address < SCREEN_END &&
	       screen->address + size <= SCREEN_END;
}

static void read_screen(const uint8_t *at, uint32_t bytes, struct multiboot2 *to)
{
	struct frame_buffer screen = { 0 };
	uint32_t kind;

	if (bytes < SCREEN_LEAST)
		return;
	screen.address = u64_at(at);
	screen.pitch = u32_at(at + 8);
	screen.width = u32_at(at + 12);
	screen.height = u32_at(at + 16);
	kind = at[21];
	if (kind == KIND_TEXT)
		screen.text = true;
	else if (kind == KIND_RGB)
		read_pixels(at, bytes, at[20], &screen);
	if (screen_is_possible(&screen))
		to->screen = screen;
}

static void read_tag(uint32_t type, const uint8_t *content, uint32_t bytes, struct multiboot2 *to)
{
	if (type == TAG_CMDLINE)
		read_cmdline(content, bytes, to);
	else if (type == TAG_MEMORY)
		read_memory(content, bytes, to);
	else if (type == TAG_RSDP_OLD || type == TAG_RSDP_NEW)
		read_rsdp(content, bytes, type, to);
	else if (type == TAG_SCREEN)
		read_screen(content, bytes, to);
}

void multiboot2_read(const uint8_t *list, struct multiboot2 *to)
{
	uint32_t total = u32_at(list), at = HEADER_BYTES;

	*to = (struct multiboot2){ 0 };
	if (total > MULTIBOOT2_MAX_BYTES)
		return;
	while (at < total && total - at >= HEADER_BYTES) {
		uint32_t type = u32_at(list + at), size = u32_at(list + at + 4);

		if (type == TAG_END || size < HEADER_BYTES || size > total - at)
			return;
		read_tag(type, list + at + HEADER_BYTES, size - HEADER_BYTES, to);
		at += (size + TAG_ALIGN - 1) & ~(TAG_ALIGN - 1u);
	}
}
