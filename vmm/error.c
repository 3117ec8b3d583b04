/* Errors as text; see error.h. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

bool error_set(struct error *error, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(error->text, sizeof(error->text), format, values);
	va_end(values);
	return false;
}
