/*
 * On AMD and Hygon processors LFENCE orders instructions only if an MSR bit is set (AMD, "Software
 * techniques for managing speculation on AMD processors", G-2; APM vol. 2, DE_CFG). Operating systems set
 * it; without one, this guest must. Under a hypervisor nothing is written: the host has set it, and the
 * write would only cause an exit at boot.
 */
#include <arch/lfence.h>
#include <arch/cpu.h>
#include "posih.h"
#include <arch/timed.h>

#define MSR_DE_CFG	     0xc0011029
#define DE_CFG_LFENCE_ORDERS (1u << 1)
#define CPUID_1_C_HYPERVISOR (1u << 31)

static bool is_set_here;

/* Families 0xf and 0x11 lack this MSR: there LFENCE always orders. */
static bool has_msr(const struct cpuid *features)
{
	uint32_t family = features->a >> 8 & 0xf;

	if (family == 0xf)
		family += features->a >> 20 & 0xff;
	return family >= 0x10 && family != 0x11;
}

static void set(void *unused)
{
	(void)unused;
	write_msr(MSR_DE_CFG, read_msr(MSR_DE_CFG) | DE_CFG_LFENCE_ORDERS);
}

void lfence_init(const struct cpuid *features)
{
	struct fault fault;

	if (features->c & CPUID_1_C_HYPERVISOR || !has_msr(features) || !cpu_is_amd())
		return;
	/* try_call(): a hypervisor that hides itself may lack this MSR. */
	is_set_here = try_call(set, NULL, &fault);
}

void lfence_enable(void)
{
	if (is_set_here)
		set(NULL);
}
