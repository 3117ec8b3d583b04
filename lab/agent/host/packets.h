/*
 * The packets of transactions, out of a capture: those with one byte of data, IPv4's TCP or UDP. What TCP sends once
 * more, as it does when a busy host has not run the other side for long, is the same packet, whose first time counts.
 * In place of steps_read(), which reads the lab's traces. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "steps.h"

struct packets {
	struct passes passes;
	uint64_t base_ns; /* times are summed from here on */
	bool of_client;	  /* requests go out there, and replies in */
	bool replied;	  /* the last one was a reply */
	/* TCP's sequence number of the last one in and out, and one bit more: 0 before it. */
	uint64_t sequence[2];
};

void packets_start(struct packets *packets, bool of_client, uint64_t base_ns);
/* Takes a packet, of which the first bytes were captured, from its Ethernet header on. NULL, or why these are no
 * transactions. */
const char *packets_take(struct packets *packets, const unsigned char *packet, size_t bytes,
			 bool goes_out, uint64_t ns);
/* After the last one. */
const char *packets_end(const struct packets *packets);
