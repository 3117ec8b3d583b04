/* KVM's interfaces for its guests; see kvm.h. */
#include <arch/kvm.h>

#include "guest/core/guest_arch.h"
#include "guest/core/smp.h"
#include <arch/cpu.h>

#define CPUID_BESIDE_HYPERV (CPUID_HYPERVISOR + 0x100)
/* "KVMKVMKVM", in the registers b, c, d. */
#define KVM_B		    0x4b4d564b
#define KVM_C		    0x564b4d56
#define KVM_D		    0x4d

#define MSR_KVM_SYSTEM_TIME 0x4b564d01

/* The features, by KVM's leaves at that place. Old versions of KVM say 0 for the last leaf. */
static uint32_t features_at(uint32_t leaf)
{
	struct cpuid id = cpuid(leaf, 0);

	return id.b == KVM_B && id.c == KVM_C && id.d == KVM_D ? cpuid(leaf + 1, 0).a : 0;
}

bool kvm_offers(enum kvm_feature feature)
{
	uint32_t features;

	if (!(cpuid(1, 0).c & CPUID_1_C_HYPERVISOR))
		return false;
	features = features_at(CPUID_HYPERVISOR);
	return (features ? features : features_at(CPUID_BESIDE_HYPERV)) & 1u << feature;
}

void kvm_clock_use(struct kvm_clock *clock)
{
	write_msr_page(MSR_KVM_SYSTEM_TIME, clock);
}

uint64_t kvm_clock_now(const struct kvm_clock *clock)
{
	struct pvclock_operand operand = { .clock = clock };

	pvclock_read_run(1, &operand);
	return operand.ns;
}

bool pv_operand_fill(struct pv_operand *operand, unsigned cpu, bool yield)
{
	*operand = (struct pv_operand){ .amd = cpu_is_amd() };
	if (!ipi_operand_fill(&operand->ipi, cpu, yield))
		return false;
	operand->id = cpus[cpu].id;
	return true;
}
