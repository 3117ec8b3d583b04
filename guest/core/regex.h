/* Regular expressions, for bench=. Pure. */
#ifndef REGEX_H
#define REGEX_H

#include <stdbool.h>

/*
 * Is there a match anywhere in `text`? Literals, . * + ? | () [] [^] with ranges, ^, $ and
 * backslash before a special character. Linear time in text times pattern; no recursion on the
 * text. A pattern that is wrong or too large matches nothing; regex_valid() tells.
 */
bool regex_search(const char *pattern, const char *text);
bool regex_valid(const char *pattern);

#endif
