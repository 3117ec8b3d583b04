/* Tells the CPU, and an emulator below it, that this one only waits. */
#ifndef RELAX_H
#define RELAX_H

static inline void relax(void)
{
	__asm__ volatile("yield" : : : "memory");
}

#endif
