/* The host's side of devices: programs that serve them, beside the one that runs the VM. */
#pragma once

#include "config.h"

/* Runs the lines `setup=`. Returns NULL, or what failed. */
const char *servers_setup(const struct config *config);
/* Starts the servers, and waits for their sockets. Returns the same. */
const char *servers_start(const struct config *config);
