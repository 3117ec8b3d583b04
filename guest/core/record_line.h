/* Sends records on the console. */
#ifndef RECORD_LINE_H
#define RECORD_LINE_H

#include "common/record.h"

/* Who speaks: "guest", until it is set; at most eight characters. */
void record_set_source(const char *source);
void record_set_nonce(uint64_t nonce);

/* One that did not fit is not sent; the console says so, and the gap in the numbers. */
void record_send(struct record *record);

#endif
