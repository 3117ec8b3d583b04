/*
 * The page through which Xen's dom0 tells its domain what became of the domain's events (dom0/, x86_64). The
 * domain knows it as answers= (docs/guest.md).
 */
#ifndef COMMON_ANSWERS_PAGE_H
#define COMMON_ANSWERS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#define ANSWERS_MAX_CLOCKS 64

/*
 * A domain's TSC when Xen last looked at the clock of the domain's CPU, and the system time of that look (struct
 * vcpu_time_info in the shared information page). If two domains' clocks have the same system time, they are of the
 * same look, and their difference is that of the domains' TSCs at all times.
 */
struct xen_clock {
	uint64_t ticks, system_ns;
};

struct answers_page {
	/* Assembly uses the offsets of the first two. */
	uint64_t answered; /* events so far */
	uint64_t stamp;	   /* dom0's TSC when it took the last event of the stamped channel */
	/* Written when dom0 is asked for them: its clock on each of the machine's CPUs. None if Xen emulates its
	 * TSC, which then has no constant distance to another domain's. */
	uint64_t clock_count;
	struct xen_clock clocks[ANSWERS_MAX_CLOCKS];
};
_Static_assert(sizeof(struct answers_page) <= 4096, "it is a page");

/* How far a domain's TSC is ahead of dom0's, modulo 2^64, by one of the domain's clocks. False: dom0 has told none
 * of the same look. */
static inline bool answers_ahead(const volatile struct answers_page *page, struct xen_clock own,
				 uint64_t *ahead)
{
	uint64_t count = page->clock_count;

	for (uint64_t i = 0; i < count && i < ANSWERS_MAX_CLOCKS; i++) {
		if (page->clocks[i].system_ns != own.system_ns)
			continue;
		*ahead = own.ticks - page->clocks[i].ticks;
		return true;
	}
	return false;
}

#endif
