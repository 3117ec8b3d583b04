/* LFENCE orders instructions on every CPU, as reads of the counter need it (arch/timed.h). */
#ifndef LFENCE_H
#define LFENCE_H

struct cpuid;

/* Finds out by CPUID's leaf 1 whether it must be made to; on the first CPU, which has its exceptions. */
void lfence_init(const struct cpuid *features);
/* Makes it, on this CPU. */
void lfence_enable(void);

#endif
