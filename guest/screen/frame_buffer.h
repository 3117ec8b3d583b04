/* A frame buffer, as a boot loader describes it. */
#ifndef FRAME_BUFFER_H
#define FRAME_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

struct frame_buffer {
	uint64_t address;	/* physical; 0: there is none */
	uint32_t pitch;		/* bytes from one line to the next */
	uint32_t width, height; /* pixels; of text characters */
	uint32_t pixel_bytes;	/* 2 to 4 */
	uint32_t white;		/* a white pixel; black is 0 */
	bool text;		/* EGA's text mode: no pixels, but two bytes for each character */
};

/* The one that the boot protocol told of. */
extern struct frame_buffer boot_screen;

/* Its size, bytes. */
static inline uint64_t frame_buffer_bytes(const struct frame_buffer *buffer)
{
	return (uint64_t)buffer->pitch * buffer->height;
}

#endif
