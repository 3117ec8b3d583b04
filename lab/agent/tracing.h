/* A traced window: why guests exited in it, and when all CPUs of the machine were idle. It costs instructions, so
 * it is never one that is measured. */
#pragma once

#include <stdint.h>

#include "common/reasons.h"

struct traced {
	struct reasons reasons;
	uint64_t idle_ticks;
	bool knows_idle;
};

/* Before the guest gets its order. False: the kernel can't trace. */
bool tracing_start(void);
/* At its marks. */
void tracing_begin(struct traced *traced);
void tracing_end(struct traced *traced);
/* After it. */
void tracing_stop(struct traced *traced);
