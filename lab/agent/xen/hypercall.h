/* Hypercalls of dom0's agent, by Linux's /dev/xen/privcmd. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"

#define MAX_DOMAINS 4
/* The VM's: the tool stack makes no other. */
#define VM_DOMAIN   1

/* How long the CPUs of the machine were idle, in nanoseconds; for one CPU. Gives up if Xen does not say. */
uint64_t hypercall_idle_ns(void);

/* For how long the CPUs of each domain ran, by the domain's number, in nanoseconds. */
void hypercall_domains_ns(uint64_t ns[MAX_DOMAINS]);

/* Pauses the VM, or lets it go on. After a pause none of its vCPUs runs. */
void hypercall_pause(bool paused);
