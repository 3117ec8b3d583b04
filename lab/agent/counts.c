/* Numbers out of the kernel's texts; see counts.h. */
#include "counts.h"

#include "common/cursor.h"

bool counts_number(const char *text, size_t bytes, uint64_t *value)
{
	struct cursor line = { text, text + bytes };

	if (!cursor_number(&line, value))
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

	return cursor_number(&line, value) && line.at < line.end && *line.at == ' ';
}

/* Time with a task that waits for I/O is idle time too, and is counted apart. */
static bool take_idle(struct cursor *line, uint64_t *value)
{
	if (!cursor_word(line, ".idle_sleeptime") && !cursor_word(line, ".iowait_sleeptime"))
		return false;
	return cursor_word(line, ":") && cursor_number(line, value) && cursor_word(line, "nsecs") &&
	       line->at == line->end;
}

bool counts_idle_ns(const char *text, size_t bytes, uint64_t *idle_ns)
{
	struct cursor rest = { text, text + bytes }, line;
	bool found = false;
	uint64_t value;

	*idle_ns = 0;
	while (cursor_line(&rest, &line)) {
		if (!take_idle(&line, &value))
			continue;
		if (__builtin_add_overflow(*idle_ns, value, idle_ns))
			return false;
		found = true;
	}
	return found;
}
