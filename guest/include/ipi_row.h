/* What the rows share that send an interrupt to the second CPU (core/ipi_row.c). */
#ifndef IPI_ROW_H
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

/* Defines the two rows' init: the operand is filled by fill(&operand, CPU, does it yield?). */
#define IPI_INITS(operand, fill)                                             \
	static bool prepare(struct bench_run *run, enum cpu_rest rest)       \
	{                                                                    \
		bool filled = fill(&(operand), IPI_TARGET, IPI_YIELDS(run)); \
                                                                             \
		run->operand = &(operand);                                   \
		return ipi_row_init(run, filled, rest);                      \
	}                                                                    \
	static bool init_halted(struct bench_run *run)                       \
	{                                                                    \
		return prepare(run, CPU_HALTED);                             \
	}                                                                    \
	static bool init_running(struct bench_run *run)                      \
	{                                                                    \
		return prepare(run, CPU_RUNNING);                            \
	}

/* `more`: parameters besides SELF_TIMED. */
#define IPI_ROW(id, title, words, needed, may, prepare, judge, loop, more)                         \
	BENCHMARK_ROW(id, title, "exception", words, needed, may, prepare, judge, loop, .cpus = 2, \
		      .cleanup = ipi_row_cleanup, .min_iterations = 1, .max_iterations = 1000,     \
		      .parameters = SELF_TIMED | (more))

#endif
