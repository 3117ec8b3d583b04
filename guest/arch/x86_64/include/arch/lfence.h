/* Makes LFENCE order instructions on every CPU, as reads of the counter require (arch/timed_macros.S). */
#ifndef LFENCE_H
#define LFENCE_H

struct cpuid;

/* Finds out by CPUID's leaf 1 whether that must be enabled; on the first CPU, after its exceptions are set
 * up. */
void lfence_init(const struct cpuid *features);
/* Enables it on this CPU. */
void lfence_enable(void);

#endif
