/* Marks for a host that times the batches from outside (HyperBench, 5.1): one byte on the console
 * before and after each (docs/records.md). */
#ifndef EXTERNAL_H
#define EXTERNAL_H

#include "posih.h"

enum mark { MARK_CONTROL = 0x01, MARK_RUN = 0x02, MARK_END = 0x03 };

/* How a row's batches are marked. */
struct external {
	uint64_t lead_ticks; /* between the first mark and the batch; 0: nothing */
};

/* How to mark batches of which the shorter kind takes so long. */
struct external external_for(uint64_t shortest_batch_ticks);

/* Waits until the host has heard all that was sent and listens again. */
void external_ready(void);

/* The batch begins when this returns, and has ended when external_end() is called. */
void external_begin(const struct external *external, enum mark mark);
void external_end(void);

#endif
