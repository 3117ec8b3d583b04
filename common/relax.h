/* Tells the CPU, and an emulator below it, that this one only waits. */
#ifndef COMMON_RELAX_H
#define COMMON_RELAX_H

static inline void relax(void)
{
#ifdef __x86_64__
	__asm__ volatile("pause" : : : "memory");
#else
	__asm__ volatile("yield" : : : "memory");
#endif
}

#endif
