/* The steps of a workload's transactions: a run of its own, whose packets are traced on both sides of the VM. */
#pragma once

#include "steps.h"

/* The packets that are traced: those with one byte of data, at the bridge or the server's network card. NULL, or
 * why they can't be. */
const char *transaction_trace(bool of_client);
/* Ends it, and reads it. NULL, or why it can't be used. */
const char *transaction_read(struct passes *passes, bool of_client);

/* Both on the client's side, around a run of `transactions`, and with the VM if there is one. */
const char *transaction_begin(const char *workload);
const char *transaction_end(const char *workload, uint64_t transactions, struct steps *steps);
