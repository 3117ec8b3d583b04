/* Marks for a host that times the batches from outside (HyperBench, 5.1): one byte on the console before
 * and after each (docs/records.md). */
#ifndef EXTERNAL_H
#define EXTERNAL_H

#include "posih.h"

enum mark { MARK_CONTROL = 0x01, MARK_RUN = 0x02, MARK_END = 0x03 };

/* How a row's batches are marked. */
struct external {
	uint64_t lead_ticks; /* between the first mark and the batch; 0: none */
};

/* Chooses the lead; `shortest_batch_ticks` is the shorter of control and run. */
struct external external_for(uint64_t shortest_batch_ticks);

/* Waits until the host has received everything sent, and is ready to receive a mark. */
void external_ready(void);

/* The batch starts when external_begin() returns and ends when external_end() is called. */
void external_begin(const struct external *external, enum mark mark);
void external_end(void);

#endif
