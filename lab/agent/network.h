/* The network between clients and the measured system: a bridge, and behind it a namespace or a VM. */
#pragma once

#include "config.h"

/* Sets up this role's side. Returns NULL, or why there is no network. */
const char *network_up(const struct config *config);
/* Of the namespace in which the servers of a native machine run; -1: there is none. */
int network_of_servers(void);
