/* This CPU's own data, and what the files of arch/x86_64 share about CPUs. */
#ifndef SMP_H
#define SMP_H

#include <stdbool.h>
#include <stdint.h>

/* gs points at it. exceptions.S knows the offsets of the first two (cpu.h). */
struct cpu {
	volatile uint64_t ready; /* 1 while it stands in cpu_rest_loop() and waits */
	volatile uint64_t spin;	 /* how it is to wait: 0 halted, 1 running */
	uint32_t number, apic_id;
	volatile uint64_t started;
} __attribute__((aligned(64)));

/* Sets this CPU's gs to `cpu`. */
void cpu_own(struct cpu *cpu);
struct cpu *cpu_self(void);

/* GDT entries of TSS and LDT, and the interrupt table: the first CPU. */
void tables_init(void);
/* ... and what every CPU loads of them. */
void tables_load(void);

#endif
