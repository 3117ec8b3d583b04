/* Counter differences between two doorbell rings, as an `exits` record. Pure. */
#ifndef COMMON_EXITS_H
#define COMMON_EXITS_H

#include "common/bell_note.h"
#include "common/record.h"

/* Starts the `exits` record (docs/records.md) of the row that `note` ends. */
void exits_start(struct record *record, const struct bell_note *note);
/* Adds the field `key`: an object of the non-zero counters, as many as fit. name_of() writes a counter's
 * name. */
void exits_counts(struct record *record, const char *key, const uint64_t *counts, unsigned counters,
		  void (*name_of)(const void *names, unsigned counter, struct text *out),
		  const void *names);
/* Turns the counts in `passed` into the counts since `begin`; never below 0. */
void exits_subtract(uint64_t *passed, const uint64_t *begin, unsigned counters);
/* Updates `own`, the cost of the rings themselves: the minimum over pairs of rings with nothing between
 * them. `*known`: there was such a pair before. */
void exits_learn(uint64_t *own, const uint64_t *passed, unsigned counters, bool *known);

#endif
