/*
 * Start-up code of the tests' guest hypervisors: an arm64 Image that runs alone, with a console and a
 * second CPU. Each is one C file that includes this.
 */
#ifndef EL2_H
#define EL2_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/accessors.h"

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

/* first_cpu() and other_cpu() are entered with the MMU off and never return. All exceptions go to the
 * label `left`, with the vector's number in x0 and no stack. */
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

/* Pointer authentication, by any algorithm: ID_AA64ISAR1_EL1's APA and API, ID_AA64ISAR2_EL1's APA3. */
#define KEY_LOW s3_0_c2_c1_0 /* APIAKeyLo_EL1 */

static inline bool has_keys(void)
{
	return READ_REGISTER(id_aa64isar1_el1) & 0xffull << 4 ||
	       READ_REGISTER(s3_0_c0_c6_2) & 0xfull << 12;
}

static inline _Noreturn void power_off(void)
{
	firmware_call(SYSTEM_OFF, 0, 0, 0);
	for (;;)
		;
}

/* With RUNS_VM: run(pc, x0) enters the VM at `pc`, and returns the vector of its exit. The including file
 * defines own_fault(), which handles our own exceptions. own_hvc() takes one, and returns when own_fault()
 * calls return_from_own(). */
#ifdef RUNS_VM
/* The registers that a function keeps, on the stack, whose pointer an exception's handler finds in TPIDR_EL0. */
#define SAVE_REGISTERS                                                                    \
	"stp x29, x30, [sp, #-96]!\n stp x19, x20, [sp, #16]\n stp x21, x22, [sp, #32]\n" \
	"stp x23, x24, [sp, #48]\n stp x25, x26, [sp, #64]\n stp x27, x28, [sp, #80]\n"   \
	"mov x9, sp\n msr tpidr_el0, x9\n isb\n"
#define RESTORE_REGISTERS                                                               \
	"ldp x19, x20, [sp, #16]\n ldp x21, x22, [sp, #32]\n ldp x23, x24, [sp, #48]\n" \
	"ldp x25, x26, [sp, #64]\n ldp x27, x28, [sp, #80]\n ldp x29, x30, [sp], #96\n ret\n"

__asm__(".pushsection .text\n"
	"enter_vm: " SAVE_REGISTERS EXCEPTION_RETURN "\n"
	"left: mrs x9, tpidr_el0\n mov sp, x9\n cmp x0, #8\n b.lo own_fault\n" RESTORE_REGISTERS
	"own_hvc: " SAVE_REGISTERS "hvc #1\n" RESTORE_REGISTERS ".popsection\n");
uint64_t enter_vm(uint64_t x0);
void own_hvc(void);

static inline _Noreturn void return_from_own(void)
{
	__asm__ volatile("mrs x9, tpidr_el0\n mov sp, x9\n" EXCEPTION_RETURN : : : "memory");
	__builtin_unreachable();
}

_Noreturn void own_fault(void);

static uint64_t run(uint64_t pc, uint64_t x0)
{
	WRITE(ELR_EL2, pc);
	return enter_vm(x0);
}
#endif

#endif
