/* The guest's command line (docs/guest.md). Pure: it also builds on the host and has unit tests there. */
#ifndef CMDLINE_H
#define CMDLINE_H

#include "common/text.h"

struct params;
/*
 * Reads `line` into *params, which the caller has filled with the defaults. Words that mean
 * nothing, or whose value cannot be used, go to `unknown`, separated by blanks. `storage` keeps
 * the strings that *params points to.
 */
void cmdline_parse(const char *line, struct params *params, char *storage, size_t storage_bytes,
		   struct text *unknown);
/* What differs by machine. */
struct cmdline_limits {
	const char *tick_unit; /* what unit= calls a tick of the clock, "tsc_ticks" */
	uint64_t port_max;     /* the highest number or address of a port */
	/* The defaults of in= and out=, and of print=; PORT_NONE: there is none. */
	uint64_t scratch_port, print_port;
};

/* The defaults of every key. */
void cmdline_defaults(struct params *params, const struct cmdline_limits *limits);

#endif
