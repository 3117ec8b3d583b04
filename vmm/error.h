/* How a function says why it failed: it fills a struct error and returns false. */
#ifndef ERROR_H
#define ERROR_H

#include <stdbool.h>

struct error {
	char text[512];
};

/* Fills *error and returns false, so that it can stand behind `return`. %m is errno's text. */
bool error_set(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
