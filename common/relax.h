/* Tells the CPU, and any emulator, that this is a busy-wait loop. */
#ifndef COMMON_RELAX_H
#define COMMON_RELAX_H

static inline void relax(void)
{
#ifdef __x86_64__
	__asm__ volatile("pause" : : : "memory");
#elif defined(__riscv)
	/* PAUSE, whose name older assemblers lack. */
	__asm__ volatile(".4byte 0x0100000f" : : : "memory");
#else
	__asm__ volatile("yield" : : : "memory");
#endif
}

#endif
