/*
 * The steps of a transaction (Dall et al. 2015, section 5, Table 6), out of the traces of its packets: on the
 * host's bridge, and in the guest on its network card. Times are only summed: the sum over all transactions of
 * how long a step took is the difference of two sums, so each side needs to know only its own. Pure.
 */
#pragma once

#include "common/text.h"
#include "machine.h"

/* What passed a device: requests and replies in turn. */
struct passes {
	uint64_t count;	   /* of requests, and of replies */
	uint64_t requests; /* the sum of their times, modulo 2^64; of the device's own clock */
	uint64_t replies;
	uint64_t first, last; /* when the first request and the last reply passed */
};

/* Reads a trace of net_dev_queue and netif_receive_skb, as in tracefs. On the client's side requests are queued
 * and replies received, on the server's the other way round. NULL, or why it can't be used. */
const char *steps_read(struct passes *passes, const char *trace, size_t bytes, bool of_client);

/* What the guest tells of its passes, as words; first and last are not in it. */
void steps_put(const struct passes *passes, struct text *out);
bool steps_take(struct passes *passes, const char *words);

enum step_name {
	RECV_TO_SEND, /* native: from the request's entry into the bridge until the reply leaves it */
	RECV_TO_VM_RECV, /* in a VM: its three parts */
	VM_RECV_TO_VM_SEND,
	VM_SEND_TO_SEND,
	SEND_TO_RECV, /* the client, until its next request */
#ifdef TWO_CLOCKS
	CLOCK_BOUND, /* no step: by how much each of a VM's three may be off */
#endif
	STEP_NAMES
};

struct steps {
	uint64_t ticks[STEP_NAMES]; /* of all transactions together; 0: no such step */
};
const char *steps_name(enum step_name name);

/* Natively. NULL, or why these are not the passes of so many transactions. */
const char *steps_native(struct steps *steps, const struct passes *client, uint64_t transactions);
/* In a VM, whose clock is `offset` ticks ahead of the host's, modulo 2^64. */
const char *steps_in_vm(struct steps *steps, const struct passes *client,
			const struct passes *server, uint64_t offset, uint64_t transactions);
