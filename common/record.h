/* The line of a record (docs/records.md). Pure. */
#ifndef COMMON_RECORD_H
#define COMMON_RECORD_H

#include "common/text.h"

#define MAX_RECORD_BYTES 4096 /* a line, with its end */

/* The numbers that one source's records carry. */
struct record_line {
	uint64_t nonce, sequence;
};

/* A record under way: record_start(), its fields, and what sends it. */
struct record {
	char buffer[MAX_RECORD_BYTES - 80]; /* the rest is for the line's head */
	struct text text;
};

/* Starts it. A field whose value is none of those below: record_key(), then the value to the text that is
 * returned. */
struct text *record_start(struct record *record, const char *kind);
void record_key(struct record *record, const char *key);
void record_u64(struct record *record, const char *key, uint64_t value);
/* A field whose value may hold anything. */
void record_string(struct record *record, const char *key, const char *value);
/* Ends it, and writes the whole line of MAX_RECORD_BYTES at most and a NUL to `to`. Returns its bytes; 0:
 * it did not fit and is lost, and the gap in the numbers tells. */
size_t record_finish(struct record *record, const char *source, struct record_line *line,
		     char to[MAX_RECORD_BYTES + 1]);

#endif
