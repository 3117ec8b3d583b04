/* Text into bounded buffers, and numbers out of text. Pure. */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t text_length(const char *text);
bool text_equal(const char *a, const char *b);
/* Does [text, text + bytes) equal that word? */
bool text_is(const char *text, size_t bytes, const char *word);

/*
 * A bounded text buffer, always NUL-terminated. `full` is set, and stays set, when something did not fit
 * and was cut.
 */
struct text {
	char *at;
	size_t size, used; /* bytes; used excludes the NUL */
	bool full;
};
void text_start(struct text *out, char *buffer, size_t size);

/* printf's %s %c %u %x %d %% with the lengths l, ll and z, width and zero padding. */
void text_printf(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *out, const char *format, va_list values);

/* A JSON string with its quotes. All but printable ASCII is escaped. */
void text_json_string(struct text *out, const char *value);

/* Parses a decimal or 0x-hexadecimal number that fills all of [text, text + bytes). */
bool parse_u64(const char *text, size_t bytes, uint64_t *value);
/* ... a hexadecimal one without 0x. */
bool parse_hex(const char *text, size_t bytes, uint64_t *value);

#endif
