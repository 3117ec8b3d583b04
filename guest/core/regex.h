/* Regular expressions for bench=. Pure. */
#ifndef REGEX_H
#define REGEX_H

#include <stdbool.h>

/*
 * Is there a match anywhere in `text`? Literals, . * + ? | () [] [^] with ranges, ^, $ and backslash before
 * a special character. Time linear in text length times pattern length; not recursive on the text. An
 * invalid or too large pattern matches nothing; regex_valid() detects it.
 */
bool regex_search(const char *pattern, const char *text);
bool regex_valid(const char *pattern);

#endif
