/* Writes the hypervisor's own records (docs/records.md) on the console, as source `neve`. */
#ifndef RECORD_H
#define RECORD_H

#include "lib.h"

#define MAX_RECORD_BYTES 4096 /* a line, with its end */

/* The numbers that a VM's records carry. */
struct record_line {
	uint64_t nonce, sequence;
};

/* A record under way: record_start(), fields by text_printf() and record_string(), record_send(). */
struct record {
	char buffer[MAX_RECORD_BYTES - 80]; /* the rest is for the line's head */
	struct text text;
};

void record_start(struct record *record, const char *kind);
void record_string(struct record *record, const char *key, const char *value);

/* Sends it. One that did not fit is lost, and the gap in the numbers tells. */
void record_send(struct record *record, struct record_line *line);

#endif
