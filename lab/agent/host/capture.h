/* Captures what passes a network device. The kernel writes it, with times of CLOCK_REALTIME, into memory that is
 * read at the end: no process runs meanwhile, and nothing is left of it after this process. */
#pragma once

#include "host/packets.h"

/* NULL, or why it can't be. */
const char *capture_start(const char *device);
/* Ends it, and gives its packets to packets_take(). NULL, or why it can't be used. */
const char *capture_stop(struct packets *packets);
