/*
 * Compares the clocks of a host and its VM, over memory that both have: the host writes a number, the VM the time
 * and the number again. Both spin. The memory is QEMU's device ivshmem-plain, and a file on the host's side
 * (crates/machines/src/lab/vm.rs).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "host/fit.h"

/* The host's side, around an order to which the VM answers: */
const char *pings_start(void);
/* Ends it. Returns how many round trips were kept, in *trips until the next one. */
unsigned pings_stop(const struct round_trip **trips);
/* The VM's time in the first answer of all since pings_start(). */
uint64_t pings_first(void);

/* The VM's side: answers until the host has enough. *first is the time in the first answer. NULL, or why not. */
const char *pings_answer(uint64_t *first);
