/* The CPUs of the machine. */
#ifndef CPUS_H
#define CPUS_H

#include <stdbool.h>
#include <stdint.h>

struct vcpu;

/* A CPU of the machine. It has one vCPU for its whole life, or none. */
struct cpu {
	uint8_t *stack_end; /* must be first: boot.S reads it */
	unsigned number;
	uint64_t id; /* affinity fields of MPIDR_EL1 */
	struct vcpu *vcpu;
	volatile bool started;
};

extern struct cpu machine_cpus[];
extern unsigned machine_cpu_count;

#endif
