/* What checks ask the CPU about itself. */
#include "cpu.h"
#include "timed.h"

#define EFLAGS_ID (1ull << 21)

uint64_t cpu_msw(void)
{
	uint64_t cr0;

	__asm__ volatile("mov %%cr0, %0" : "=r"(cr0));
	return cr0;
}

bool cpu_flags_can_be_written(void)
{
	uint64_t before, after;

	__asm__ volatile("pushfq\n\t"
			 "mov (%%rsp), %0\n\t"
			 "xorq %2, (%%rsp)\n\t"
			 "popfq\n\t"
			 "pushfq\n\t"
			 "pop %1\n\t"
			 "push %0\n\t"
			 "popfq"
			 : "=&r"(before), "=&r"(after)
			 : "r"(EFLAGS_ID)
			 : "cc", "memory");
	return (before ^ after) == EFLAGS_ID;
}

bool cpu_is_amd(void)
{
	struct cpuid id = cpuid(0, 0);

	/* "AuthenticAMD", "HygonGenuine": their first letters are enough. */
	return id.b == 0x68747541 || id.b == 0x6f677948;
}
