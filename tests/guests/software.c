/*
 * Rows that a software KVM does not survive (tests/e2e/kvm.bats). Built into a guest of their own
 * by EXTRA_BENCH. `soft-call` holds a hypercall instruction and keeps to the rule that all guests
 * keep to: it runs only where hypercall= names somebody who answers.
 */
#include "bench.h"
#include "lib.h"

#define SOFT(id, text, ...)                                               \
	BENCHMARK(id) = { .name = text,                                   \
			  .category = "planted",                          \
			  .summary = "what a software KVM can't emulate", \
			  .requires = "",                                 \
			  .run = id##_run,                                \
			  .control = id##_control,                        \
			  .cpus = 1,                                      \
			  .min_iterations = 1,                            \
			  .max_iterations = 1,                            \
			  .insns_iterations = 1,                          \
			  .insns_samples = 2,                             \
			  __VA_ARGS__ }

TIMED_LOOP(soft_before, "nop");
SOFT(soft_before, "soft-before");

/* The descriptor of selector 0 can't be loaded: real processors only clear ZF. */
TIMED_LOOP(soft_lar, "xor %eax, %eax\n\tlar %eax, %edx");
SOFT(soft_lar, "soft-lar");

TIMED_LOOP(soft_call, "vmcall");

static const char *needs_call(const struct params *params)
{
	return params->hypercall == HYPERCALL_NONE ? "hypercall=none: the guest's own word" : NULL;
}
SOFT(soft_call, "soft-call", .needs = needs_call);

TIMED_LOOP(soft_after, "nop");
SOFT(soft_after, "soft-after");
