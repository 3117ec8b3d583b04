/* Formatted text for the console. Called by record.c, and by what has something to tell a person. */
#include "lib.h"
#include "posih.h"

void console_printf(const char *format, ...)
{
	static char buffer[4400]; /* a record line, and some */
	struct text text;
	va_list values;

	text_start(&text, buffer, sizeof(buffer));
	va_start(values, format);
	text_vprintf(&text, format, values);
	va_end(values);
	console_write(buffer, text.used);
}
