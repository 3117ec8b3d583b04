/* Writes records (docs/records.md). One record at a time: start, fields, send. */
#ifndef RECORD_H
#define RECORD_H

#include "common/text.h"

/* Who speaks: "guest", until it is set; at most eight characters. */
void record_set_source(const char *source);
void record_set_nonce(uint64_t nonce);

/* Starts a record of that kind; its fields are added to the text that is returned, each with
 * record_key() first. */
struct text *record_start(const char *kind);
void record_key(const char *key);
void record_u64(const char *key, uint64_t value);
void record_string(const char *key, const char *value);

/* Sends it. One that did not fit is not sent; a fault record takes its place. */
void record_send(void);

#endif
