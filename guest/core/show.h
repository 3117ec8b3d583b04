/*
 * Where the guest shows people what it measures: on a screen, and at the end on the console. Only guest.mb2 does so
 * (GUEST_SHOWS; screen/). In the other images all of this is nothing, so that no figure of the lab depends on it.
 * Nothing here is called while something is timed. Strings must stay valid.
 */
#ifndef SHOW_H
#define SHOW_H

#include "common/word.h"
#include "guest/core/guest_arch.h"

#ifdef GUEST_SHOWS

/* Takes a word of the command line that only matters here. False: it is another one. */
bool show_takes(const struct word *word);

/* Before the first row; `rows` of them will run. */
void show_start(const struct params *params, const struct machine_facts *facts, uint64_t rows);

/* A row begins, and ends in one of three ways. An exception in its cleanup fails it after the end. */
void show_row(const char *name);
/* ... with the ticks of `count` batches, which are overwritten, and its check's verdict ("proved", ...). */
void show_measured(uint64_t *run, const uint64_t *control, uint64_t count, uint64_t iterations,
		   const char *verdict);
void show_skipped(const char *reason);
void show_failed(const char *what);

/* Before the last record: the whole table on the console. */
void show_end(void);
/* ... or what stopped the guest. */
void show_stopped(const struct fault *fault);

/* After the last record: the table stays on the screen for a while. */
void show_stay(void);

#else

#define show_takes(word)					false
#define show_start(params, facts, rows)				((void)0)
#define show_row(name)						((void)0)
#define show_measured(run, control, count, iterations, verdict) ((void)0)
#define show_skipped(reason)					((void)0)
#define show_failed(what)					((void)0)
#define show_end()						((void)0)
#define show_stopped(fault)					((void)0)
#define show_stay()						((void)0)

#endif
#endif
