/* Tells the CPU, and any emulator, that this is a busy-wait loop. */
#ifndef COMMON_RELAX_H
#define COMMON_RELAX_H

static inline void relax(void)
{
#ifdef __x86_64__
	__asm__ volatile("pause" : : : "memory");
#elif defined(__riscv)
	__asm__ volatile(".4byte 0x0100000f"
			 :
			 :
			 : "memory"); /* PAUSE; older assemblers lack the name */
#else
	__asm__ volatile("yield" : : : "memory");
#endif
}

#endif
