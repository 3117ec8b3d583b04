/*
 * The interface of core/ to arch/, in addition to POSIH: how the machine was started, what it is, how it is
 * ended. Not for benchmarks.
 */
#ifndef GUEST_ARCH_H
#define GUEST_ARCH_H

#include "guest/core/boot_info.h"
#include "guest/core/cmdline.h"
#include "posih.h"

/* Facts about the machine for the `hello` record. */
struct machine_facts {
	const char *arch;
	const char *interrupt_controller; /* "xapic", "x2apic", "gicv2", "gicv3", "gicv3-its" */
	const char *exception_level;	  /* "el1", "el2", "el2-vhe"; NULL on x86 */
	char cpu[64];
	char hypervisor[16]; /* "" if none is detected */
	const char *clock;   /* "tsc", "cntvct" */
	uint64_t clock_hz;   /* 0: unknown */
	const char *clock_hz_from;
};
/* `measure`: if no table gives the clock's frequency, may it be measured against another clock? */
void machine_facts(struct machine_facts *facts, bool measure);

/* Called first: sets up exceptions and the console, and reads the boot information. If something required
 * is missing, prints that, if there is a console, and ends the machine. */
void arch_init(void);

/* Enables this CPU's interrupt controller, as the command line chose; before start_others(). */
void arch_enable_interrupts(const struct params *params);

/* What the command line may contain on this machine; after arch_init(). */
void arch_cmdline_limits(struct cmdline_limits *limits);

/* Can a tick of the clock be one instruction, as far as this CPU tells? */
bool clock_can_count_insns(void);

/* Ends the machine; if that is impossible, halts this CPU forever. */
_Noreturn void power_off(enum hypercall_abi hypercall);

/* Runs `passes` passes of an empty loop: shifts the phase of the measurement after it. */
void pad_loop(uint64_t passes);

/* The other end of channel= under Xen (answer=1): answers each event, forever. */
_Noreturn void arch_answer_events(const struct params *params);

/* Passes an exception outside any try_call() to core/. */
_Noreturn void fault_outside(const struct fault *fault);

#endif
