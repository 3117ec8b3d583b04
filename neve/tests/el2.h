/*
 * What the tests' guest hypervisors begin with: an arm64 Image with nothing below it but who runs it, a console,
 * a second CPU. One file includes it.
 */
#ifndef EL2_H
#define EL2_H

#include <stdbool.h>
#include <stdint.h>

#include "accessors.h"

#define UART	   0x09000000ull
#define GICD	   0x08000000ull
#define GICR	   0x080a0000ull
#define SYSTEM_OFF 0x84000008u
#define CPU_ON	   0xc4000003u

#if PARAVIRT
#define EXCEPTION_RETURN "hvc #0xffff"
#else
#define EXCEPTION_RETURN "eret"
#endif

/* Entered with the MMU off: first_cpu() and other_cpu() never return. All exceptions go to `left`, in assembly, with
 * the vector's number in x0 and no stack. */
__asm__(".pushsection .head, \"ax\"\n"
	"b start\n"
	".long 0\n"
	".quad 0, 0x200000, 0xa, 0, 0, 0\n"
	".ascii \"ARM\\x64\"\n"
	".long 0\n"
	"start: msr daifset, #0xf\n"
	"adrp x1, stacks + 8192\n add x1, x1, :lo12:stacks + 8192\n mov sp, x1\n"
	"b first_cpu\n"
	"other_start: msr daifset, #0xf\n mov sp, x0\n b other_cpu\n"
	".balign 2048\n"
	"vectors:\n"
	".set offset, 0\n"
	".rept 16\n"
	".balign 128\n"
	"mov x0, #offset\n b left\n"
	".set offset, offset + 1\n"
	".endr\n"
	".popsection\n");

extern char vectors[] __attribute__((visibility("hidden")));
extern char other_start[] __attribute__((visibility("hidden")));
void first_cpu(void);
void other_cpu(void);

char stacks[2][8192] __attribute__((aligned(16)));

static uint64_t firmware_call(uint64_t function, uint64_t a, uint64_t b, uint64_t c)
{
	register uint64_t x0 __asm__("x0") = function;
	register uint64_t x1 __asm__("x1") = a;
	register uint64_t x2 __asm__("x2") = b;
	register uint64_t x3 __asm__("x3") = c;

	__asm__ volatile("smc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}

static inline void start_other(void)
{
	firmware_call(CPU_ON, 1, (uint64_t)other_start, (uint64_t)stacks[1] + sizeof(stacks[1]));
}

static void say(const char *text)
{
	for (; *text; text++)
		*(volatile uint32_t *)UART = (uint32_t)*text;
}

static inline _Noreturn void power_off(void)
{
	firmware_call(SYSTEM_OFF, 0, 0, 0);
	for (;;)
		;
}

#endif
