/*
 * Rows that a software KVM does not survive (tests/e2e/kvm.bats). Built into a guest of their own
 * by EXTRA_BENCH. `soft-call` has a hypercall instruction; like all rows with one, it runs only if
 * hypercall= names a hypervisor that answers.
 */
#include "row.h"

TIMED_LOOP(soft_before, "nop");
ROW(soft_before, "soft-before", .run = soft_before_run);

/* LAR of selector 0, which has no descriptor: real CPUs only clear ZF. */
TIMED_LOOP(soft_lar, "xor %eax, %eax\n\tlar %eax, %edx");
ROW(soft_lar, "soft-lar", .run = soft_lar_run);

TIMED_LOOP(soft_call, "vmcall");

static const char *needs_call(const struct params *params)
{
	return params->hypercall == HYPERCALL_NONE ? "hypercall=none: the guest's own word" : NULL;
}
ROW(soft_call, "soft-call", .run = soft_call_run, .needs = needs_call);

TIMED_LOOP(soft_after, "nop");
ROW(soft_after, "soft-after", .run = soft_after_run);
