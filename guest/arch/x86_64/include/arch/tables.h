/* The descriptor tables, and which CPU this is. */
#ifndef TABLES_H
#define TABLES_H

struct cpu;

/* Sets this CPU's gs to `cpu`. */
void cpu_own(struct cpu *cpu);
struct cpu *cpu_self(void);

/* Fills the GDT entries of TSS and LDT, and the interrupt table: on the first CPU. */
void tables_init(void);
/* ... and loads them: on every CPU. */
void tables_load(void);

/* Points an interrupt vector at an entry written in assembly. */
void set_idt_entry(unsigned vector, void (*entry)(void));

#endif
