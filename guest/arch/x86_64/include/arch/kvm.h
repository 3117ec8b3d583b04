/* KVM's interfaces for its guests (Linux, Documentation/virt/kvm/x86/cpuid.rst, msr.rst and hypercalls.rst). */
#ifndef KVM_H
#define KVM_H

#include <stdbool.h>
#include <stdint.h>

#include <arch/timed.h>

/* Bits of KVM's leaf of features. */
enum kvm_feature {
	KVM_CLOCKSOURCE2 = 3,
	KVM_PV_SEND_IPI = 11,
};

/* Is the hypervisor KVM, and does it offer that? */
bool kvm_offers(enum kvm_feature feature);

/* A CPU's time, written by KVM (msr.rst, MSR_KVM_SYSTEM_TIME_NEW). */
struct kvm_clock {
	volatile uint32_t version; /* odd while KVM writes */
	uint32_t padding;
	uint64_t tsc, ns; /* the same moment by both clocks */
	uint32_t multiplier;
	int8_t shift;
	uint8_t flags, more_padding[2];
} __attribute__((aligned(32)));

/* KVM writes this CPU's time there; NULL: no more. */
void kvm_clock_use(struct kvm_clock *clock);

/* The time by that clock, in ns since KVM started it. */
uint64_t kvm_clock_now(const struct kvm_clock *clock);

/* The loop of pvclock-read (loops/kvm.S). */
struct pvclock_operand {
	const struct kvm_clock *clock;
	uint64_t ns; /* of the last pass */
};
TIMED_OFFSET(kvm_clock, tsc, CLOCK_TSC);
TIMED_OFFSET(kvm_clock, ns, CLOCK_NS);
TIMED_OFFSET(kvm_clock, multiplier, CLOCK_MULTIPLIER);
TIMED_OFFSET(kvm_clock, shift, CLOCK_SHIFT);
TIMED_OFFSET(pvclock_operand, clock, PVCLOCK_CLOCK);
TIMED_OFFSET(pvclock_operand, ns, PVCLOCK_NS);
TIMED_DECLARE(pvclock_read);

/* The loop of pv-ipi-halted and pv-ipi-running (loops/interrupts.S). */
struct pv_operand {
	struct ipi_operand ipi;
	uint64_t amd; /* 1: VMMCALL; 0: VMCALL */
	uint64_t id;  /* the receiver's APIC ID */
};
TIMED_OFFSET(pv_operand, amd, PV_AMD);
TIMED_OFFSET(pv_operand, id, PV_ID);
TIMED_DECLARE(pv_ipi);

/* Fills it for that CPU. False: it does not run. */
bool pv_operand_fill(struct pv_operand *operand, unsigned cpu, bool yield);

#endif
