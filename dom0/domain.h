/*
 * A domain, as dom0's hypercalls make it, fill it and watch it. Each function says whether Xen did
 * what was asked; where it did not, `trouble` has it in words.
 */
#ifndef DOMAIN_H
#define DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/text.h"
#include "guest/platform/xen.h"

struct domain {
	uint16_t id;
	uint32_t interface; /* the version of Xen's domctl that this Xen speaks */
	struct text *trouble;
};

/* An empty, paused domain with nested paging and local APICs: PVH. Its clock is native, so that its
 * RDTSC does not exit. */
bool domain_create(struct domain *domain, unsigned cpus);

/* Memory from address 0 on, in pages of 2 MiB. */
bool domain_add_memory(struct domain *domain, uint64_t mib, unsigned cpus);

/* Lets dom0 reach `pages` pages of it, once for each page. Returns where, or NULL. */
uint8_t *domain_map(struct domain *domain, uint64_t address, unsigned pages);

/* Its accesses to these ports go to the machine's. */
bool domain_give_ports(struct domain *domain, uint32_t first, uint32_t count);

/* Its first CPU is to begin there as a PVH loader leaves it (Xen's docs/misc/pvh.pandoc). */
bool domain_start_at(struct domain *domain, uint64_t entry, uint64_t start_info);

bool domain_unpause(struct domain *domain);

/* Has it shut down? Then *reason says why. */
bool domain_has_ended(struct domain *domain, enum xen_shutdown *reason);

/* Takes note of what Xen answered. True where that is no error. */
bool domain_did(struct domain *domain, const char *what, int64_t answer);

#endif
