/* Phases (bench.h) that variants of a row have in common with it. */
#ifndef SHARED_PHASES_H
#define SHARED_PHASES_H

#include "bench.h"

/* bench/hypercall.c */
TIMED_DECLARE(hypercall);
const char *hypercall_needs(const struct params *params);
bool hypercall_init(struct bench_run *run);
enum check hypercall_check(struct bench_run *run);

/* bench/in.c */
const char *in_needs(const struct params *params);
bool in_init(struct bench_run *run);
enum check in_check(struct bench_run *run);

#endif
