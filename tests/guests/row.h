/*
 * Common parts of the rows of test guests: the macro ROW defines a row that runs once and measures nothing;
 * a test overrides its fields.
 */
#ifndef ROW_H
#define ROW_H

#include <stdbool.h>

#include "bench.h"

/* The macro overrides defaults on purpose. */
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
