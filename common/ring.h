/* A doorbell of the hypervisor below this machine (docs/guest.md). */
#ifndef COMMON_RING_H
#define COMMON_RING_H

#include <stdbool.h>
#include <stdint.h>

/* Writes the physical address of a note to it: to an I/O port, on aarch64 and riscv64 to an address. There is one in a process.
 * NULL, or what failed, with errno. */
const char *ring_below(uint64_t where, uint64_t note);

#endif
