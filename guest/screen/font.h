/* The font of the screen. Pure. */
#ifndef FONT_H
#define FONT_H

#include <stdint.h>

#define FONT_FIRST  ' '
#define FONT_LAST   '~'
/* Pixels of a character's cell. */
#define FONT_WIDTH  8
#define FONT_HEIGHT 16

/* The pixels of a character's line 0 to 15, bit 7 on the left. Other characters look like a question mark. */
uint8_t font_line(char c, unsigned line);

#endif
