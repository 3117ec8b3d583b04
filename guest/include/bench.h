/*
 * A benchmark: one virtualization-sensitive operation, one file in bench/, one row in the linker section
 * .benchmarks (HyperBench, Listing 1). CONTRIBUTING.md shows how to add one.
 *
 * The phases of a row, in order (core/harness.c):
 *
 *   needs    may it run here? NULL, or the reason why not. Probes; never assumes.
 *   init     prepares; sets run->operand. False: run->reason says why.
 *   control  \ once for each sample, in either order, each timed as one batch of run->iterations
 *   run      / passes. Both are the same loop, except for the operation (paper, Fig. 4).
 *   check    did the event take place? Writes run->note.
 *   cleanup  undoes init; also called when init, run or check raised an exception.
 */
#ifndef BENCH_H
#define BENCH_H

#include "posih.h"
#include <arch/timed.h>

enum check { CHECK_PROVED, CHECK_UNPROVEN, CHECK_FAILED };

/* The launch parameters that affect a row's figures: stored with its result. */
#define PARAM_PAGE	 (1u << 0)
#define PARAM_WS	 (1u << 1)
#define PARAM_IN_PORT	 (1u << 2)
#define PARAM_OUT_PORT	 (1u << 3)
#define PARAM_PRINT_PORT (1u << 4)
#define PARAM_HYPERCALL	 (1u << 5)
/* The loop times each operation itself and returns the sum (EACH_START). */
#define SELF_TIMED	 (1u << 6)

/* The trials before the first sample take at most so many batches of the final size: each size is at least
 * twice the one before, and is tried twice. For rows that consume something in each pass. */
#define TRIAL_BATCHES 4

/* One run of one benchmark, from init to cleanup. */
struct bench_run {
	const struct params *params;
	uint64_t index;		 /* among the selected benchmarks, from 0 */
	uint64_t samples;	 /* samples to be taken */
	uint64_t iterations;	 /* passes in a batch; final when check is called */
	uint64_t max_iterations; /* init may lower it */
	uint64_t total;		 /* operations done so far, trial batches included */
	void *operand;		 /* passed to run */
	void *control_operand;	 /* passed to control; NULL: the same */
	const char *reason;	 /* why init returned false */
	char note[160];		 /* what check found */
};

/* Passes that may have gone another way than meant: a CPU that was not halted yet, a timer that came in the
 * next pass. CPUs and timers of a busy host are threads, which can be late; on instructions nothing is. */
static inline uint64_t bench_may_miss(const struct bench_run *run)
{
	return run->params->unit == UNIT_INSNS || run->total < 2 ? 0 : 1 + run->total / 10;
}

/* Fixed layout, 16 words: the runner reads the rows from the image (docs/architecture.md). */
struct bench {
	const char *name, *category, *summary;
	const char *requires; /* requirements, for people; "": none */
	const char *(*needs)(const struct params *params);
	bool (*init)(struct bench_run *run);
	timed_loop *run, *control;
	enum check (*check)(struct bench_run *run);
	void (*cleanup)(struct bench_run *run);
	uint64_t cpus;				  /* CPUs needed: 1 or 2 */
	uint64_t min_iterations, max_iterations;  /* on units of time (paper, Table 1) */
	uint64_t insns_iterations, insns_samples; /* on instructions: constants */
	uint64_t parameters;			  /* PARAM_ bits */
};
_Static_assert(sizeof(struct bench) == 128, "the runner reads rows of 16 words");

#define BENCHMARK(id)                        \
	static const struct bench bench_##id \
		__attribute__((used, section(".benchmarks"), aligned(128)))

/* A row whose batches on instructions are of one operation; what else it has follows, as in an initializer. */
#define BENCHMARK_ROW(id, title, kind, words, needed, may, prepare, judge, loop, ...) \
	BENCHMARK(id) = { .name = title,                                              \
			  .category = kind,                                           \
			  .summary = words,                                           \
			  .requires = needed,                                         \
			  .needs = may,                                               \
			  .init = prepare,                                            \
			  .run = loop##_run,                                          \
			  .control = loop##_control,                                  \
			  .check = judge,                                             \
			  .insns_iterations = 1,                                      \
			  .insns_samples = 64,                                        \
			  __VA_ARGS__ }

extern const struct bench __benchmarks_start[], __benchmarks_end[];

/* Formats into run->note; for check(). */
void bench_note(struct bench_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
