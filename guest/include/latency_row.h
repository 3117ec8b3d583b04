/* What the I/O latency rows share (core/latency.c). */
#ifndef LATENCY_ROW_H
#define LATENCY_ROW_H

#include "bench.h"
#include "latency.h"

/* NULL, or why the row cannot run. */
const char *latency_needs(const struct params *params);
/* Gives the device a command, without comparing clocks. Returns its page; NULL: see run->reason. */
const struct latency_page *latency_command(struct bench_run *run, enum latency_command command);
/* Prepares a row's operand: the device executes `command`, and both sides' clocks are compared. `halts`:
 * the guest waits halted. False: see run->reason. */
bool latency_start(struct bench_run *run, enum latency_command command, bool halts);
/* Did everything arrive, and was every stamp between the guest's own? */
enum check latency_check(struct bench_run *run);
void latency_stop(struct bench_run *run);

#endif
