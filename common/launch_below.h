/* How the first process in a VM gets the lines of the lab's launch. The lab writes them to the machine's own first
 * process, which is the monitor below. That one passes them on when its doorbell is rung (docs/guest.md). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Does in a VM what launch_wait() does. If the monitor below has no lines (neve is not a process), the lab stops this
 * process instead. Returns NULL on an error: `failed` says what could not be done, and errno why. */
char *launch_ask(uint64_t doorbell, bool saves, const char **failed);
/* Reports the nonce and unit of the launch to the monitor below, for its own records. Returns NULL, or what could not be
 * done; errno says why. */
const char *launch_tell(uint64_t doorbell, uint64_t nonce, const char *unit);
