/* Counts of exits by reason; see reasons.h. Pure. */
#include "common/reasons.h"

#include "common/cursor.h"

bool reasons_of_vmx;

/* A row is `{ esr_ec:         36 } hitcount:         89`. */
bool reasons_parse(const char *text, size_t bytes, struct reasons *reasons)
{
	struct cursor rest = { text, text + bytes }, line;

	reasons->count = 0;
	while (cursor_line(&rest, &line)) {
		uint64_t code, count;

		if (!cursor_word(&line, "{") || !cursor_word(&line, reasons_key) ||
		    !cursor_word(&line, ":"))
			continue;
		if (!cursor_number(&line, &code) || !cursor_word(&line, "}") ||
		    !cursor_word(&line, "hitcount:") || !cursor_number(&line, &count) ||
		    reasons->count == REASONS_MAX)
			return false;
		reasons->rows[reasons->count].code = code;
		reasons->rows[reasons->count++].count = count;
	}
	return true;
}

void reasons_subtract(struct reasons *reasons, const struct reasons *other)
{
	for (unsigned i = 0; i < reasons->count; i++) {
		uint64_t *count = &reasons->rows[i].count;

		for (unsigned j = 0; j < other->count; j++)
			if (other->rows[j].code == reasons->rows[i].code)
				*count -= *count < other->rows[j].count ? *count
									: other->rows[j].count;
	}
}

void reasons_name_row(const void *reasons, unsigned row, struct text *out)
{
	reasons_name(((const struct reasons *)reasons)->rows[row].code, out);
}
