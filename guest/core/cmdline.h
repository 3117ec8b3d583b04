/* The guest's command line (docs/guest.md). Pure: also built on the host for unit tests. */
#ifndef CMDLINE_H
#define CMDLINE_H

#include "common/text.h"

struct params;
/*
 * Parses `line` into *params, which the caller has filled with the defaults. Unknown words and invalid
 * values go to `unknown`, separated by blanks. `storage` keeps the strings that *params points to.
 */
void cmdline_parse(const char *line, struct params *params, char *storage, size_t storage_bytes,
		   struct text *unknown);
/* Machine-dependent limits and defaults. */
struct cmdline_limits {
	const char *tick_unit; /* the name of a clock tick for unit=, "tsc_ticks" */
	uint64_t port_max;     /* the highest port number or address */
	bool local_apic;       /* apic= is a word of this machine */
	/* The defaults of in= and out=, and of print=; PORT_NONE: none. */
	uint64_t scratch_port, print_port;
};

/* Sets the defaults of all keys. */
void cmdline_defaults(struct params *params, const struct cmdline_limits *limits);

#endif
