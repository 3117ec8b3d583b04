/* Tells the CPU, and any emulator, that this is a busy-wait loop. */
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
