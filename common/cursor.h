/* Reads the kernel's texts: a piece that is still to be read, and what can be taken off its beginning. Pure. */
#ifndef COMMON_CURSOR_H
#define COMMON_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/text.h"

struct cursor {
	const char *at, *end;
};

/* Takes the next line, without its newline. */
static inline bool cursor_line(struct cursor *text, struct cursor *line)
{
	const char *newline;

	if (text->at >= text->end)
		return false;
	newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
	*line = (struct cursor){ text->at, newline ? newline : text->end };
	text->at = newline ? newline + 1 : text->end;
	return true;
}

static inline void cursor_blanks(struct cursor *line)
{
	while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
		line->at++;
}

/* Takes a word if the line goes on with it, and the blanks around it. */
static inline bool cursor_word(struct cursor *line, const char *word)
{
	size_t bytes = strlen(word);

	cursor_blanks(line);
	if ((size_t)(line->end - line->at) < bytes || memcmp(line->at, word, bytes) != 0)
		return false;
	line->at += bytes;
	cursor_blanks(line);
	return true;
}

static inline bool cursor_number(struct cursor *line, uint64_t *value)
{
	const char *begin = line->at;

	while (line->at < line->end && *line->at >= '0' && *line->at <= '9')
		line->at++;
	return parse_u64(begin, (size_t)(line->at - begin), value);
}

#endif
