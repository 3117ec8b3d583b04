/* What monitors make of two rings of the doorbell: what was counted between them. Pure. */
#ifndef COMMON_EXITS_H
#define COMMON_EXITS_H

#include "common/bell_note.h"
#include "common/record.h"

/* Starts the `exits` record (docs/records.md) of the row whose end was rung. */
void exits_start(struct record *record, const struct bell_note *note);
/* Adds the field `key`: an object of the counters that are not zero, as far as the record has room. name_of()
 * writes a counter's name. */
void exits_counts(struct record *record, const char *key, const uint64_t *counts, unsigned counters,
		  void (*name_of)(const void *names, unsigned counter, struct text *out),
		  const void *names);
/* What is counted in `passed` becomes what was counted since `begin`; never below 0. */
void exits_subtract(uint64_t *passed, const uint64_t *begin, unsigned counters);
/* The least that a pair with nothing between costs is what rings themselves cost. `*known`: there was
 * such a pair before. */
void exits_learn(uint64_t *own, const uint64_t *passed, unsigned counters, bool *known);

#endif
