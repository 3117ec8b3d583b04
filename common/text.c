/* Text into bounded buffers, and numbers out of text. Pure. */
#include "common/text.h"

size_t text_length(const char *text)
{
	size_t length = 0;

	while (text[length])
		length++;
	return length;
}

bool text_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

bool text_is(const char *text, size_t bytes, const char *word)
{
	size_t i = 0;

	for (; i < bytes && word[i]; i++)
		if (text[i] != word[i])
			return false;
	return i == bytes && !word[i];
}

void text_start(struct text *out, char *buffer, size_t size)
{
	*out = (struct text){ .at = buffer, .size = size };
	if (size)
		buffer[0] = 0;
	else
		out->full = true;
}

static void put(struct text *out, char c)
{
	if (out->used + 1 >= out->size) {
		out->full = true;
		return;
	}
	out->at[out->used++] = c;
	out->at[out->used] = 0;
}

static void put_number(struct text *out, uint64_t value, unsigned base, bool negative,
		       unsigned width, bool zeros)
{
	char digits[24];
	unsigned n = 0;

	do {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	if (negative && zeros)
		put(out, '-');
	for (unsigned i = n + negative; i < width; i++)
		put(out, zeros ? '0' : ' ');
	if (negative && !zeros)
		put(out, '-');
	while (n)
		put(out, digits[--n]);
}

void text_vprintf(struct text *out, const char *format, va_list values)
{
	for (; *format; format++) {
		bool zeros = false;
		unsigned width = 0, longs = 0;
		uint64_t value;

		if (*format != '%') {
			put(out, *format);
			continue;
		}
		format++;
		if (*format == '0') {
			zeros = true;
			format++;
		}
		while (*format >= '0' && *format <= '9')
			width = width * 10 + (unsigned)(*format++ - '0');
		while (*format == 'l' || *format == 'z') {
			longs++;
			format++;
		}
		switch (*format) {
		case 's':
			for (const char *s = va_arg(values, const char *); *s; s++)
				put(out, *s);
			break;
		case 'c':
			put(out, (char)va_arg(values, int));
			break;
		case 'u':
		case 'x':
			value = longs ? va_arg(values, unsigned long) : va_arg(values, unsigned);
			put_number(out, value, *format == 'u' ? 10 : 16, false, width, zeros);
			break;
		case 'd': {
			int64_t number = longs ? va_arg(values, long) : va_arg(values, int);

			value = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
			put_number(out, value, 10, number < 0, width, zeros);
			break;
		}
		case '%':
			put(out, '%');
			break;
		default: /* our own bug: show it, and stop rather than misread the arguments */
			put(out, '%');
			out->full = true;
			return;
		}
	}
}

void text_printf(struct text *out, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	text_vprintf(out, format, values);
	va_end(values);
}

void text_json_string(struct text *out, const char *value)
{
	put(out, '"');
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if (c == '"' || c == '\\')
			text_printf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			text_printf(out, "\\u%04x", c);
		else
			put(out, (char)c);
	}
	put(out, '"');
}

static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 99;
}

static bool parse(const char *text, size_t bytes, unsigned base, uint64_t *value)
{
	uint64_t sum = 0;

	if (!bytes)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		unsigned digit = digit_value(text[i]);

		if (digit >= base || sum > (UINT64_MAX - digit) / base)
			return false;
		sum = sum * base + digit;
	}
	*value = sum;
	return true;
}

bool parse_u64(const char *text, size_t bytes, uint64_t *value)
{
	if (bytes > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return parse(text + 2, bytes - 2, 16, value);
	return parse(text, bytes, 10, value);
}

bool parse_hex(const char *text, size_t bytes, uint64_t *value)
{
	return parse(text, bytes, 16, value);
}
