/* See console_printf.h. */
#include "common/console_printf.h"

#include "common/text.h"

void console_printf(const char *format, ...)
{
	char buffer[512];
	struct text text;
	va_list values;

	text_start(&text, buffer, sizeof(buffer));
	va_start(values, format);
	text_vprintf(&text, format, values);
	va_end(values);
	console_write(buffer, text.used);
}
