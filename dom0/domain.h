/*
 * Creates, fills and watches a domain by hypercalls. Each function returns false if Xen refused; `trouble`
 * then holds the reason.
 */
#ifndef DOMAIN_H
#define DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/text.h"
#include "guest/include/xen.h"

struct domain {
	uint16_t id;
	uint32_t interface; /* domctl version of this Xen */
	struct text *trouble;
};

/* Creates an empty, paused PVH domain with nested paging and local APICs. Its TSC mode is native, so RDTSC
 * does not exit. */
bool domain_create(struct domain *domain, unsigned cpus);

/* Adds memory from address 0, in 2 MiB pages. */
bool domain_add_memory(struct domain *domain, uint64_t mib, unsigned cpus);

/* Maps `pages` pages of it into dom0; only once per page. Returns the address, or NULL. */
uint8_t *domain_map(struct domain *domain, uint64_t address, unsigned pages);

/* Gives the domain direct access to these I/O ports. */
bool domain_give_ports(struct domain *domain, uint32_t first, uint32_t count);

/* Its first CPU starts at `entry` in the state that PVH requires (Xen's docs/misc/pvh.pandoc). */
bool domain_start_at(struct domain *domain, uint64_t entry, uint64_t start_info);

bool domain_unpause(struct domain *domain);

/* Has it shut down? If so, sets *reason. */
bool domain_has_ended(struct domain *domain, enum xen_shutdown *reason);

/* Records the error of a failed hypercall. Returns true if `answer` is not an error. */
bool domain_did(struct domain *domain, const char *what, int64_t answer);

#endif
