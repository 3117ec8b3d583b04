/* Tells dom0's clock on each CPU of the machine: by that of its own CPU a domain finds how far its TSC is ahead
 * of dom0's (common/answers_page.h). */
#include "dom0/clocks.h"

#include <stdbool.h>

#include <arch/cpu.h>
#include "guest/include/xen.h"

#define XEN_TIME_LEAF	  0x40000003 /* arch-x86/cpuid.h, leaf 4 */
#define TIME_TSC_EMULATED (1u << 0)
#define NO_CPU		  (-1)

/* False: the machine has no such CPU. Xen refuses another CPU until the last one is given up. */
static bool run_on(int32_t cpu)
{
	return xen_call(XEN_SCHED_OP, XEN_SCHED_PIN, &cpu) >= 0;
}

void clocks_tell(volatile struct answers_page *page)
{
	bool emulated = cpuid(XEN_TIME_LEAF, 0).a & TIME_TSC_EMULATED;
	unsigned count = 0;

	while (!emulated && count < ANSWERS_MAX_CLOCKS && run_on((int32_t)count)) {
		page->clocks[count++] = xen_clock();
		run_on(NO_CPU);
	}
	page->clock_count = count;
}
