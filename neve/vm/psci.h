/*
 * PSCI 1.1 (Arm DEN 0022) and the SMC calling convention 1.1 (DEN 0028) as a VM sees them: which of
 * its CPUs are on, and what a call asks for. Pure: the caller does what is asked.
 */
#ifndef PSCI_H
#define PSCI_H

#include <stdbool.h>
#include <stdint.h>

#define PSCI_CPU_ON_64	0xc4000003u
#define PSCI_SYSTEM_OFF 0x84000008u
#define PSCI_MAX_CPUS	8

struct psci {
	unsigned cpu_count;
	bool on[PSCI_MAX_CPUS];
};

enum psci_action {
	PSCI_ANSWER,  /* put `value` into x0 and go on */
	PSCI_START,   /* start CPU `cpu` at `entry` with x0 = `context`; the answer is `value` */
	PSCI_STANDBY, /* wait for an interrupt first; the answer is `value` */
	PSCI_CPU_STOPS,
	PSCI_OFF,
	PSCI_RESET,
};

struct psci_result {
	enum psci_action action;
	uint64_t value;
	unsigned cpu;
	uint64_t entry, context;
};

/* All CPUs off but the first. */
void psci_init(struct psci *psci, unsigned cpu_count);

/* CPU `self` calls with x0 to x3. A CPU is known by its affinity, which is its number. Two CPUs must not
 * call at the same time. */
struct psci_result psci_call(struct psci *psci, unsigned self, const uint64_t x[4]);

#endif
