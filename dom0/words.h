/* dom0's own command line. Pure. */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/text.h"

struct words {
	uint64_t memory_mib; /* of the domain; even */
	uint64_t cpus;	     /* its virtual CPUs */
};

/* Parses dom0's command line. Unknown words and invalid values go to `unknown`; then it returns false. */
bool words_read(const char *line, struct words *words, struct text *unknown);

#endif
