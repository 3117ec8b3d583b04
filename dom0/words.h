/* dom0's own command line. Pure. */
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

#endif
