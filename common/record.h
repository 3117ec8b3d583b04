/* The lines of records (docs/records.md). Pure. */
#ifndef COMMON_RECORD_H
#define COMMON_RECORD_H

#include "common/text.h"

#define MAX_RECORD_BYTES 4096 /* of a line, with its newline */

/* The nonce and sequence number in the records of one source. */
struct record_line {
	uint64_t nonce, sequence;
};

/* A record being built: record_start(), its fields, record_finish(). */
struct record {
	char buffer[MAX_RECORD_BYTES - 80]; /* the rest is for the line's prefix */
	struct text text;
};

/* Starts a record and returns its text. For fields of other types than those below: record_key(), then
 * print the value to that text. */
struct text *record_start(struct record *record, const char *kind);
void record_key(struct record *record, const char *key);
void record_u64(struct record *record, const char *key, uint64_t value);
/* A string field; any bytes are escaped. */
void record_string(struct record *record, const char *key, const char *value);
/* Ends it and writes the whole line, at most MAX_RECORD_BYTES and a NUL, to `to`. Returns its bytes; 0: it
 * did not fit and is lost, which shows as a gap in the sequence numbers. */
size_t record_finish(struct record *record, const char *source, struct record_line *line,
		     char to[MAX_RECORD_BYTES + 1]);

#endif
