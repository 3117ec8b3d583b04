/*
 * What the rows of the test guests have in common: a row that runs once and measures nothing,
 * whose fields a test sets anew where it goes wrong on purpose.
 */
#ifndef ROW_H
#define ROW_H

#include <stdbool.h>

#include "bench.h"

/* A field given again behind the defaults is the point of the macro. */
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#endif

#define ROW(id, text, ...)                                    \
	BENCHMARK(id) = { .name = text,                       \
			  .category = "planted",              \
			  .summary = "goes wrong on purpose", \
			  .run = nothing_run,                 \
			  .control = nothing_control,         \
			  .cpus = 1,                          \
			  .min_iterations = 1,                \
			  .max_iterations = 1,                \
			  .insns_iterations = 1,              \
			  .insns_samples = 2,                 \
			  __VA_ARGS__ }

TIMED_LOOP(nothing, "nop");

#endif
