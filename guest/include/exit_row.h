/* A row of a family with few differences: one CPU, no parameters. */
#ifndef EXIT_ROW_H
#define EXIT_ROW_H

#include "bench.h"

/* `flags`: 0 for an operation of a few instructions, timed as a batch; or SELF_TIMED. */
#define EXIT_ROW(id, title, kind, words, needed, may, prepare, judge, loop, flags)          \
	BENCHMARK_ROW(id, title, kind, words, needed, may, prepare, judge, loop, .cpus = 1, \
		      .min_iterations = (flags) != 0 ? 1 : 100,                             \
		      .max_iterations = (flags) != 0 ? 1000 : 1000000, .parameters = flags)

#endif
