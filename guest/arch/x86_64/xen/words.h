/* The two command lines that dom0 gets: its own, and that of the domain which it starts. Pure. */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/text.h"

struct words {
	uint64_t memory_mib; /* of the domain; even */
	uint64_t cpus;	     /* ... its virtual CPUs */
};

/* Reads dom0's own words. A word that means nothing, or whose value can't be used, goes to
 * `unknown`, and the answer is false. */
bool words_read(const char *line, struct words *words, struct text *unknown);

/* The guest's command line in a module's: loaders put the file's name first. */
const char *words_behind_name(const char *line);

/* The value of `key` in the line, as text; "" where it is not there. */
void words_value(const char *line, const char *key, struct text *value);

#endif
