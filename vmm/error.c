/* Errors as text; see error.h. */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *error, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(error->text, sizeof(error->text), format, values);
	va_end(values);
	return false;
}

bool error_errno(struct error *error, const char *format, ...)
{
	int number = errno;
	va_list values;
	int used;

	va_start(values, format);
	used = vsnprintf(error->text, sizeof(error->text), format, values);
	va_end(values);
	if (used >= 0 && (size_t)used < sizeof(error->text))
		snprintf(error->text + used, sizeof(error->text) - (size_t)used, ": %s",
			 strerror(number));
	return false;
}
