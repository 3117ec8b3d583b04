/*
 * PSCI 1.1 (Arm DEN 0022) and SMC calling convention 1.1 (DEN 0028) for a VM: which of its CPUs are on, and
 * what a call requests. Pure: the caller carries out the request.
 */
#ifndef PSCI_H
#define PSCI_H

#include <stdbool.h>
#include <stdint.h>

#define PSCI_MAX_CPUS 8

struct psci {
	unsigned cpu_count;
	bool on[PSCI_MAX_CPUS];
};

enum psci_action {
	PSCI_ANSWER,  /* return `value` in x0 */
	PSCI_START,   /* start CPU `cpu` at `entry` with x0 = `context`; return `value` */
	PSCI_STANDBY, /* wait for an interrupt, then return `value` */
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

/* All CPUs are off except the first. */
void psci_init(struct psci *psci, unsigned cpu_count);

/* CPU `self` calls with x0 to x3. A CPU's affinity is its number. Two CPUs must not call at the same time. */
struct psci_result psci_call(struct psci *psci, unsigned self, const uint64_t x[4]);

#endif
