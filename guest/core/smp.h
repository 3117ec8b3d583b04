/* The CPUs, as core/ and arch/ share them. */
#ifndef SMP_H
#define SMP_H

#include <stdbool.h>
#include <stdint.h>

/* One CPU's own data. Assembly uses the offsets of the first three (arch/<arch>/cpu.h). */
struct cpu {
	volatile uint64_t ready; /* 1 while it is in its waiting loop */
	volatile uint64_t spin;	 /* how to wait: 0 halted, 1 running */
	uint64_t stack_end;	 /* the top of its stack */
	uint64_t id;		 /* hardware ID: APIC ID, MPIDR */
	uint32_t number;	 /* our number: CPU 0 runs everything */
	volatile uint64_t started;
} __attribute__((aligned(64)));

extern struct cpu cpus[];

/* Incremented by the handler of on_cpu()'s interrupt, in assembly. */
extern uint64_t ipi_received, ipi_found_halted, ipi_found_running;

/* For data that one CPU polls and another writes: a cache line of its own, and the adjacent one that is
 * prefetched with it. */
#define APART __attribute__((aligned(128)))

/* ---- Implemented by arch/ ------------------------------------------------------------------ */

/* Writes the IDs of the machine's other CPUs, at most `most`; returns how many there are. *own is this
 * CPU's ID. */
unsigned arch_list_cpus(uint64_t *ids, unsigned most, uint64_t *own);

/* Called once before the first arch_start_cpu(): CPUs cpus[1] to cpus[count] will be started. */
void arch_prepare_start(unsigned count);

/* Starts it; it sets `started` when it runs. Called again if it does not within START_AGAIN_TICKS. */
void arch_start_cpu(struct cpu *cpu);

/* Ticks of rdtimer() in about a second: a timeout for anything that a CPU can do. */
uint64_t arch_long_ticks(void);

void arch_send_ipi(const struct cpu *to);

#endif
