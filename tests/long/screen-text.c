/*
 * Reads the text on a screen of guest.mb2: a PPM file (P6) on standard input, as QEMU's screendump writes it. Prints
 * its lines, with a dot for a cell that is no character of the font. Exit code 1: no such file.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "guest/screen/font.h"

#define MAX_SIDE 8192

static uint8_t *pixels;
static unsigned width, height;

/* A pixel is lit where it is white; other colours than black and white are an error of the guest. */
static int lit(unsigned x, unsigned y)
{
	const uint8_t *pixel = pixels + 3 * ((size_t)y * width + x);

	for (int i = 0; i < 3; i++)
		if (pixel[i] >= 0xf0)
			continue;
		else if (pixel[i])
			return -1;
		else
			return 0;
	return 1;
}

static int is_character(unsigned column, unsigned line, int c)
{
	for (unsigned y = 0; y < FONT_HEIGHT; y++)
		for (unsigned x = 0; x < FONT_WIDTH; x++)
			if (lit(column * FONT_WIDTH + x, line * FONT_HEIGHT + y) !=
			    (font_line((char)c, y) << x >> (FONT_WIDTH - 1) & 1))
				return 0;
	return 1;
}

int main(void)
{
	if (scanf("P6 %u %u 255", &width, &height) != 2 || getchar() == EOF || width > MAX_SIDE ||
	    height > MAX_SIDE)
		return 1;
	pixels = malloc((size_t)3 * width * height);
	if (!pixels || fread(pixels, 3 * width, height, stdin) != height)
		return 1;
	for (unsigned line = 0; line < height / FONT_HEIGHT; line++) {
		for (unsigned column = 0; column < width / FONT_WIDTH; column++) {
			int c = FONT_FIRST;

			while (c <= FONT_LAST && !is_character(column, line, c))
				c++;
			putchar(c <= FONT_LAST ? c : '.');
		}
		putchar('\n');
	}
	return 0;
}
