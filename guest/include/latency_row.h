/* What the rows of I/O latency share (core/latency.c). */
#ifndef LATENCY_ROW_H
#define LATENCY_ROW_H

#include "bench.h"
#include "latency.h"

/* May it run? NULL, or why not. */
const char *latency_needs(const struct params *params);
/* Has the device do that, without a clock. Returns its page; NULL: run->reason. */
const struct latency_page *latency_command(struct bench_run *run, enum latency_command command);
/* Prepares the operand of a row: the device does what `command` says, and both sides have one clock. False:
 * run->reason. `halts`: the guest waits halted. */
bool latency_start(struct bench_run *run, enum latency_command command, bool halts);
/* Did all that was sent come, and lay every stamp between the guest's own? */
enum check latency_check(struct bench_run *run);
void latency_stop(struct bench_run *run);

#endif
