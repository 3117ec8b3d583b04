/* Numbers out of the kernel's texts; see counts.h. */
#include <string.h>

#include "counts.h"
#include "machine.h"

/* A piece of the text that is still to be read. */
struct cursor {
	const char *at, *end;
};

/* Takes the next line, without its newline. */
static bool next_line(struct cursor *text, struct cursor *line)
{
	const char *newline;

	if (text->at >= text->end)
		return false;
	newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
	*line = (struct cursor){ text->at, newline ? newline : text->end };
	text->at = newline ? newline + 1 : text->end;
	return true;
}

static void skip_blanks(struct cursor *line)
{
	while (line->at < line->end && (*line->at == ' ' || *line->at == '\t'))
		line->at++;
}

/* Takes a word if the line goes on with it, and the blanks around it. */
static bool take(struct cursor *line, const char *word)
{
	size_t bytes = strlen(word);

	skip_blanks(line);
	if ((size_t)(line->end - line->at) < bytes || memcmp(line->at, word, bytes) != 0)
		return false;
	line->at += bytes;
	skip_blanks(line);
	return true;
}

static bool take_number(struct cursor *line, uint64_t *value)
{
	const char *begin = line->at;

	while (line->at < line->end && *line->at >= '0' && *line->at <= '9')
		line->at++;
	return parse_u64(begin, (size_t)(line->at - begin), value);
}

bool counts_number(const char *text, size_t bytes, uint64_t *value)
{
	struct cursor line = { text, text + bytes };

	if (!take_number(&line, value))
		return false;
	return line.at == line.end || (*line.at == '\n' && line.at + 1 == line.end);
}

bool counts_signed(const char *text, size_t bytes, uint64_t *value)
{
	bool negative = bytes > 0 && *text == '-';

	if (!counts_number(text + negative, bytes - negative, value))
		return false;
	if (negative)
		*value = -*value;
	return true;
}

bool counts_first(const char *text, size_t bytes, uint64_t *value)
{
	struct cursor line = { text, text + bytes };

	return take_number(&line, value) && line.at < line.end && *line.at == ' ';
}

/* Time with a task that waits for I/O is idle time too, and is counted apart. */
static bool take_idle(struct cursor *line, uint64_t *value)
{
	if (!take(line, ".idle_sleeptime") && !take(line, ".iowait_sleeptime"))
		return false;
	return take(line, ":") && take_number(line, value) && take(line, "nsecs") &&
	       line->at == line->end;
}

bool counts_idle_ns(const char *text, size_t bytes, uint64_t *idle_ns)
{
	struct cursor rest = { text, text + bytes }, line;
	bool found = false;
	uint64_t value;

	*idle_ns = 0;
	while (next_line(&rest, &line)) {
		if (!take_idle(&line, &value))
			continue;
		if (__builtin_add_overflow(*idle_ns, value, idle_ns))
			return false;
		found = true;
	}
	return found;
}

bool counts_reasons(const char *text, size_t bytes, struct reasons *reasons)
{
	struct cursor rest = { text, text + bytes }, line;

	reasons->count = 0;
	while (next_line(&rest, &line)) {
		uint64_t code, count;

		if (!take(&line, "{") || !take(&line, EXIT_KEY ":"))
			continue;
		if (!take_number(&line, &code) || !take(&line, "}") || !take(&line, "hitcount:") ||
		    !take_number(&line, &count) || reasons->count == MAX_REASONS)
			return false;
		reasons->rows[reasons->count].code = code;
		reasons->rows[reasons->count++].count = count;
	}
	return true;
}

void counts_reasons_subtract(struct reasons *reasons, const struct reasons *other)
{
	for (unsigned i = 0; i < reasons->count; i++) {
		uint64_t *count = &reasons->rows[i].count;

		for (unsigned j = 0; j < other->count; j++)
			if (other->rows[j].code == reasons->rows[i].code)
				*count -= *count < other->rows[j].count ? *count
									: other->rows[j].count;
	}
}
