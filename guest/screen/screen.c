/* Text on a frame buffer; see screen.h. */
#include "guest/screen/screen.h"

#include "guest/screen/font.h"

#define TEXT_COLOUR    0x07 /* light grey on black (IBM EGA, attribute byte) */
/* The font is enlarged where a screen has more lines of pixels than twice this. */
#define LINES_OF_SCALE 720
#define MAX_SCALE      4

void screen_open(struct screen *screen, const struct frame_buffer *buffer)
{
	*screen = (struct screen){ .buffer = *buffer, .scale = 1 };
	if (!buffer->address)
		return;
	if (buffer->text) {
		screen->columns = buffer->width;
		screen->lines = buffer->height;
	} else {
		if (buffer->height > 2 * LINES_OF_SCALE)
			screen->scale = buffer->height / LINES_OF_SCALE;
		if (screen->scale > MAX_SCALE)
			screen->scale = MAX_SCALE;
		screen->columns = buffer->width / (FONT_WIDTH * screen->scale);
		screen->lines = buffer->height / (FONT_HEIGHT * screen->scale);
	}
	screen_clear(screen, 0, screen->lines);
}

static void put_pixel(volatile uint8_t *at, uint32_t bytes, uint32_t value)
{
	if (bytes == 4)
		*(volatile uint32_t *)at = value;
	else if (bytes == 2)
		*(volatile uint16_t *)at = (uint16_t)value;
	else
		for (uint32_t i = 0; i < bytes; i++)
			at[i] = (uint8_t)(value >> 8 * i);
}

static void put_glyph(const struct screen *screen, unsigned line, unsigned column, char c)
{
	const struct frame_buffer *buffer = &screen->buffer;
	unsigned width = FONT_WIDTH * screen->scale, height = FONT_HEIGHT * screen->scale;
	uint64_t start = buffer->address + (uint64_t)line * height * buffer->pitch +
			 (uint64_t)column * width * buffer->pixel_bytes;

	for (unsigned y = 0; y < height; y++) {
		uint8_t bits = font_line(c, y / screen->scale);
		uint64_t at = start + (uint64_t)y * buffer->pitch;

		for (unsigned x = 0; x < width; x++, at += buffer->pixel_bytes)
			put_pixel((volatile uint8_t *)at, buffer->pixel_bytes,
				  bits << x / screen->scale & 0x80 ? buffer->white : 0);
	}
}

static void put(const struct screen *screen, unsigned line, unsigned column, char c)
{
	const struct frame_buffer *buffer = &screen->buffer;
	volatile uint8_t *cell;

	if (!buffer->text) {
		put_glyph(screen, line, column, c);
		return;
	}
	cell = (volatile uint8_t *)(buffer->address + (uint64_t)line * buffer->pitch +
				    2ull * column);
	cell[0] = (uint8_t)c;
	cell[1] = TEXT_COLOUR;
}

void screen_write(const struct screen *screen, unsigned line, unsigned column, const char *text,
		  unsigned width)
{
	if (line >= screen->lines)
		return;
	for (; width && column < screen->columns; width--, column++)
		put(screen, line, column, *text ? *text++ : ' ');
}

void screen_clear(const struct screen *screen, unsigned from, unsigned to)
{
	for (; from < to; from++)
		screen_write(screen, from, 0, "", screen->columns);
}
