/* Xen hypercalls, and the address of the shared information page. Makes no hypercall unless called. */
#include "guest/include/xen.h"
#include "guest/core/guest_arch.h"
#include <arch/timed.h>

/* The address that Linux uses (arch/x86/xen/enlighten_hvm.c): tool stacks keep that MiB free. Inside RAM
 * the page would split the large page around it, and make all of Xen's page walks there longer. */
#define SHARED_INFO_AT 0xfe700000ull

uint64_t xen_call_kind(void)
{
	static uint64_t known; /* 1 VMCALL, 2 VMMCALL; cached, because CPUID exits each time */

	if (!known)
		known = cpu_is_amd() ? 2 : 1;
	return known - 1;
}

int64_t xen_call(uint64_t number, uint64_t first, const void *second)
{
	uint64_t result = number;

	if (xen_call_kind())
		__asm__ volatile("vmmcall" : "+a"(result), "+D"(first), "+S"(second) : : "memory");
	else
		__asm__ volatile("vmcall" : "+a"(result), "+D"(first), "+S"(second) : : "memory");
	return (int64_t)result;
}

void xen_shutdown(enum xen_shutdown reason)
{
	uint32_t word = (uint32_t)reason;

	xen_call(XEN_SCHED_OP, XEN_SCHED_SHUTDOWN, &word);
}

uint64_t xen_shared_info_at(void)
{
	return SHARED_INFO_AT;
}

/* On x86 dom0 does it. */
_Noreturn void arch_answer_events(const struct params *params)
{
	console_printf("answer= is no word of this architecture: under Xen dom0 answers events\n");
	power_off(params->hypercall);
}
