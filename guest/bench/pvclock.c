/* The time by KVM's clock: a page that KVM writes and the guest computes with, without an exit. */
#include "bench.h"
#include <arch/kvm.h>

static struct kvm_clock kvm_clock;
static struct pvclock_operand operand;
static uint64_t before_ns;

static const char *needs(const struct params *params)
{
	(void)params;
	return kvm_offers(KVM_CLOCKSOURCE2) ? NULL : "no KVM here offers kvmclock (CPUID)";
}

static bool init(struct bench_run *run)
{
	kvm_clock_use(&kvm_clock);
	operand = (struct pvclock_operand){ .clock = &kvm_clock };
	run->operand = &operand;
	if (!kvm_clock.multiplier) {
		run->reason = "KVM did not fill the kvmclock structure";
		return false;
	}
	before_ns = kvm_clock_now(&kvm_clock);
	return true;
}

static enum check check(struct bench_run *run)
{
	uint64_t after_ns = kvm_clock_now(&kvm_clock);

	bench_note(run, "%lu ns, read between %lu and %lu", operand.ns, before_ns, after_ns);
	return before_ns <= operand.ns && operand.ns <= after_ns ? CHECK_PROVED : CHECK_FAILED;
}

static void cleanup(struct bench_run *run)
{
	(void)run;
	kvm_clock_use(NULL);
}

BENCHMARK_ROW(pvclock_read, "pvclock-read", "unprivileged",
	      "read the time from kvmclock, without an exit", "KVM", needs, init, check,
	      pvclock_read, .cleanup = cleanup, .cpus = 1, .min_iterations = 100,
	      .max_iterations = 1000000);
