/* Hyper-V's interfaces for its guests; see hyperv.h. */
#include <arch/hyperv.h>

#include <arch/cpu.h>

#define CPUID_INTERFACE	 0x40000001
#define CPUID_PRIVILEGES 0x40000003
#define INTERFACE	 0x31237648 /* "Hv#1" */

#define MSR_GUEST_OS_ID	  0x40000000
#define MSR_HYPERCALL	  0x40000001
#define MSR_REFERENCE_TSC 0x40000021
/* A guest says what it is before it makes hypercalls; this is the format of open source systems, vendor 0
 * (TLFS 2.6). */
#define OPEN_SOURCE	  (1ull << 63)

bool hyperv_offers(enum hyperv_feature feature)
{
	return cpuid(1, 0).c & CPUID_1_C_HYPERVISOR &&
	       cpuid(CPUID_HYPERVISOR, 0).a >= CPUID_PRIVILEGES &&
	       cpuid(CPUID_INTERFACE, 0).a == INTERFACE &&
	       cpuid(CPUID_PRIVILEGES, 0).a & 1u << feature;
}

void hyperv_clock_use(void *page)
{
	write_msr_page(MSR_REFERENCE_TSC, page);
}

void hyperv_hypercall_use(void *page)
{
	if (page)
		write_msr(MSR_GUEST_OS_ID, OPEN_SOURCE);
	write_msr_page(MSR_HYPERCALL, page);
	if (!page)
		write_msr(MSR_GUEST_OS_ID, 0);
}
