/* What the rows share that send an interrupt to the second CPU (core/ipi_row.c). */
#ifndef IPI_ROW_H
/* `more`: parameters besides SELF_TIMED. */
#define IPI_ROW_H

#include "bench.h"

#define IPI_TARGET 1

/* With unit=insns all CPUs share one emulator thread, so waiting must yield. */
#define IPI_YIELDS(run) ((run)->params->unit == UNIT_INSNS)

/* Makes the second CPU wait that way. `filled`: whether there is an operand for it. False: see run->reason. */
bool ipi_row_init(struct bench_run *run, bool filled, enum cpu_rest rest);
/* Did each interrupt arrive, and find the CPU waiting that way? */
enum check ipi_row_check_halted(struct bench_run *run);
enum check ipi_row_check_running(struct bench_run *run);
void ipi_row_cleanup(struct bench_run *run);

/* `more`: parameters besides SELF_TIMED. */
#define IPI_ROW(id, title, words, needed, may, prepare, judge, loop, more) \
	BENCHMARK(id) = {                                                  \
		.name = title,                                             \
		.category = "exception",                                   \
		.summary = words,                                          \
		.requires = needed,                                        \
		.needs = may,                                              \
		.init = prepare,                                           \
		.run = loop##_run,                                         \
		.control = loop##_control,                                 \
		.check = judge,                                            \
		.cleanup = ipi_row_cleanup,                                \
		.cpus = 2,                                                 \
		.min_iterations = 1,                                       \
		.max_iterations = 1000,                                    \
		.insns_iterations = 1,                                     \
		.insns_samples = 64,                                       \
		.parameters = SELF_TIMED | (more),                         \
	}

#endif
