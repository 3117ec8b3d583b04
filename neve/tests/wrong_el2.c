/*
 * A guest hypervisor that does one invalid thing, by WRONG: 1 gives a deferred page outside its memory, 2
 * returns to AArch32, 3 has its vectors where no memory is, 4 has vectors that fault, 5 loops, 6 loops with
 * its vectors where stage 1 maps nothing, 7 changes its deferred page while its VM is entered and left.
 * Built by neve/Makefile (wrong, WRONG=1 to 7), run by tests/e2e/neve-nested.bats.
 */
#include "el2.h"

#if WRONG == 7
/* The VM calls in a loop. */
__asm__(".pushsection .text\nleft: hvc #0xffff\nvm: hvc #0\n b vm\n.popsection\n");
extern char vm[] __attribute__((visibility("hidden")));
volatile uint64_t deferred[512] __attribute__((aligned(4096)));
#else
__asm__(".pushsection .text\nleft: b left\n.popsection\n");
#endif

void first_cpu(void)
{
	say("wrong: begins\n");
	start_other();
#if WRONG == 1
	CALL_WRITE_(REG_VNCR_EL2, 0x09000000);
#elif WRONG == 2
	WRITE(SPSR_EL2, 0x1d3);
	__asm__ volatile(EXCEPTION_RETURN);
#elif WRONG == 3
	WRITE(VBAR_EL2, 0x7000000000ull);
	__asm__ volatile(".inst 0");
#elif WRONG == 4
	WRITE(VBAR_EL2, 0x09000000ull); /* a device: fetching from it is an external abort */
	__asm__ volatile(".inst 0");
#elif WRONG == 7
	CALL_WRITE_(REG_VNCR_EL2, (uint64_t)deferred);
	WRITE_REGISTER(ttbr1_el1, deferred);
	WRITE(VBAR_EL2, (uint64_t)vectors);
	WRITE(HCR_EL2, HCR_RW);
	WRITE(SPSR_EL2, 0x3c5);
	WRITE(ELR_EL2, (uint64_t)vm);
	__asm__ volatile(EXCEPTION_RETURN);
#elif WRONG == 6
	WRITE(TTBR0_EL2, 0x40000000ull + (32 << 20)); /* zeros */
	WRITE(TCR_EL2, 25ull | 1ull << 23 | 1ull << 31);
	WRITE(VBAR_EL2, (uint64_t)vectors);
	instruction_barrier();
	WRITE(SCTLR_EL2, 0x30c50831ull);
	instruction_barrier();
#endif
	for (;;)
		;
}

/* The second CPU, if there is one, only loops; with 7 it keeps changing the whole deferred page. */
void other_cpu(void)
{
	for (uint64_t number = 1;;
	     number = number * 6364136223846793005ull + 1442695040888963407ull)
#if WRONG == 7
		deferred[number >> 40 & 511] = number * number;
#else
		;
#endif
}
