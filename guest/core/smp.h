/* The CPUs as core/ and arch/ both see them. */
#ifndef SMP_H
#define SMP_H

#include <stdbool.h>
#include <stdint.h>

/* One CPU's own data. Assembly knows the offsets of the first three (arch/<arch>/cpu.h). */
struct cpu {
	volatile uint64_t ready; /* 1 while it stands in its resting loop and waits */
	volatile uint64_t spin;	 /* how it is to wait: 0 halted, 1 running */
	uint64_t stack_end;	 /* where its stack begins */
	uint64_t id;		 /* as the hardware calls it: APIC id, MPIDR */
	uint32_t number;	 /* as we call it: 0 runs everything */
	volatile uint64_t started;
} __attribute__((aligned(64)));

extern struct cpu cpus[];

/* Counted by the handler of on_cpu()'s interrupt, in assembly. */
extern uint64_t ipi_received, ipi_found_halted, ipi_found_running;

/* What one CPU polls and another writes has this for itself: a cache line, and the one that is fetched
 * with it. */
#define APART __attribute__((aligned(128)))

/* ---- What arch/ has for it ----------------------------------------------------------------- */

/* The ids of the CPUs that the machine has beside this one: writes the first `most`, returns how
 * many there are of them. *own is this CPU's. */
unsigned arch_list_cpus(uint64_t *ids, unsigned most, uint64_t *own);

/* Once, before the first arch_start_cpu(): the `count` CPUs from cpus[1] on will be started. */
void arch_prepare_start(unsigned count);

/* Sends it off; it sets `started` when it runs. Called again where it does not within
 * START_AGAIN_TICKS. */
void arch_start_cpu(struct cpu *cpu);

/* Ticks of rdtimer() in which anything that a CPU can do is done: a second, about. */
uint64_t arch_long_ticks(void);

void arch_send_ipi(const struct cpu *to);

#endif
