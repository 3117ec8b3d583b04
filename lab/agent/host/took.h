/* Programs that measure themselves. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reads the last line that a program has said. True if it is about the time that the program itself took:
 * "took N ns". *ns is N then, or 0 if that is no time within `limit_ns`, which all of the program took. */
bool took_read(const char *line, uint64_t limit_ns, uint64_t *ns);
