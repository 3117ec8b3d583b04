/*
 * Text on a frame buffer. It only writes there, as reads from a graphics card take long: nothing scrolls. Pure
 * but for that memory.
 */
#ifndef SCREEN_H
#define SCREEN_H

#include "guest/screen/frame_buffer.h"

struct screen {
	struct frame_buffer buffer;
	unsigned columns, lines; /* of characters; 0: no screen */
	unsigned scale;		 /* a pixel of the font is so many pixels wide and high */
};

/* Clears a screen at `buffer`, whose memory is mapped 1:1. Without a buffer, or with one too small for a line of
 * text, it has no lines, and nothing is drawn. */
void screen_open(struct screen *screen, const struct frame_buffer *buffer);

/* Writes text from that column of that line on, in exactly `width` characters: cut, or filled up with blanks.
 * What lies outside the screen is not drawn. */
void screen_write(const struct screen *screen, unsigned line, unsigned column, const char *text,
		  unsigned width);

/* Makes lines [from, to) blank. */
void screen_clear(const struct screen *screen, unsigned from, unsigned to);

#endif
