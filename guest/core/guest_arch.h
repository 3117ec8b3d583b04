/*
 * What core/ asks of arch/ beside POSIH: how the machine was started, what it is, how it ends.
 * Benchmarks do not use it.
 */
#ifndef GUEST_ARCH_H
#define GUEST_ARCH_H

#include "guest/core/boot_info.h"
#include "guest/core/cmdline.h"
#include "posih.h"

/* What the machine says of itself. */
struct machine_facts {
	const char *arch;
	const char *interrupt_controller; /* "xapic", "x2apic", "gicv2", "gicv3", "gicv3-its" */
	const char *exception_level;	  /* "el1", "el2", "el2-vhe"; NULL where there are none */
	char cpu[64];
	char hypervisor[16]; /* "" where none shows itself */
	const char *clock;   /* "tsc", "cntvct" */
	uint64_t clock_hz;   /* 0: not known */
	const char *clock_hz_from;
};
/* `measure`: may the clock be measured against another one, if no table tells its frequency? */
void machine_facts(struct machine_facts *facts, bool measure);

/* First of all: exceptions, console, the boot protocol's words. Where nothing can be done without
 * what was not there, says so on the console if there is one and ends the machine. */
void arch_init(void);

/* What the command line may say here; after arch_init(). */
void arch_cmdline_limits(struct cmdline_limits *limits);

/* Can a tick of the clock be one instruction, by all that this CPU says of it? */
bool clock_can_count_insns(void);

/* Ends the machine, or halts this CPU for ever where nothing ends it. */
_Noreturn void power_off(enum hypercall_abi hypercall);

/* Tells a monitor that listens at `doorbell` where in memory a note lies. */
void ring_doorbell(uint64_t doorbell, const void *note);

/* Runs `passes` passes of an empty loop: moves the phase of what is measured behind it. */
void pad_loop(uint64_t passes);

/* The other end of channel= under Xen (answer=1): answers each event, for ever. */
_Noreturn void arch_answer_events(const struct params *params);

/* Hands an exception outside any try_call to core/. */
_Noreturn void fault_outside(const struct fault *fault);

#endif
