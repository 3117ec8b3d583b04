/* A row of a family with few differences: one CPU, no parameters. */
#ifndef EXIT_ROW_H
#define EXIT_ROW_H

#include "bench.h"

/* `flags`: 0 for an operation of a few instructions, timed as a batch; or SELF_TIMED. */
#define EXIT_ROW(id, title, kind, words, needed, may, prepare, judge, loop, flags) \
	BENCHMARK(id) = {                                                          \
		.name = title,                                                     \
		.category = kind,                                                  \
		.summary = words,                                                  \
		.requires = needed,                                                \
		.needs = may,                                                      \
		.init = prepare,                                                   \
		.run = loop##_run,                                                 \
		.control = loop##_control,                                         \
		.check = judge,                                                    \
		.cpus = 1,                                                         \
		.min_iterations = (flags) != 0 ? 1 : 100,                          \
		.max_iterations = (flags) != 0 ? 1000 : 1000000,                   \
		.insns_iterations = 1,                                             \
		.insns_samples = 64,                                               \
		.parameters = flags,                                               \
	}

#endif
