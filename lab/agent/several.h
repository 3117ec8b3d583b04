/* Whether this is the agent of a machine without a VM whose measured system has several CPUs (build/lab/ARCH/agent-cpus).
 * The other agents are the same bytes as without it: a byte more would move the figures of all machines. */
#pragma once

#ifndef SEVERAL_CPUS
#define SEVERAL_CPUS 0
#endif

/* Of clients, if they have one of their own. */
#define CLIENTS_CPU 0
