/* The machine's idle time under Xen, in place of Linux's own, which does not know of the other domains. Xen's
 * nanoseconds are the machine's (docs/lab.md). */
#include <unistd.h>

#include "window.h"
#include "xen/hypercall.h"

uint64_t window_idle_ticks(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 0 : hypercall_idle_ns();
}
