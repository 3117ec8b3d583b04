/* The launch of a first process in a VM of the lab's. The lab stops and writes only to the machine's own first process,
 * the monitor below: that one hands the lines on, by its doorbell (docs/guest.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* launch_wait() in such a VM. If the monitor below has no lines, as a hypervisor that is no process, the lab stops this
 * one. NULL: `failed` says what could not be done, with errno. */
char *launch_ask(uint64_t doorbell, bool saves, const char **failed);
/* Tells the monitor below the nonce and unit of the launch, for its own records. NULL, or what failed, with errno. */
const char *launch_tell(uint64_t doorbell, uint64_t nonce, const char *unit);
