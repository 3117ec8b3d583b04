/* Sends records on the console. */
#ifndef RECORD_LINE_H
#define RECORD_LINE_H

#include "common/record.h"

/* The sender's name: "guest" by default; at most eight characters. */
void record_set_source(const char *source);
void record_set_nonce(uint64_t nonce);

/* A record that does not fit is not sent: the console prints that, and a sequence number is missing. */
void record_send(struct record *record);

#endif
