/*
 * A guest hypervisor that only traps: executes each kind of instruction 64 times between two rings of the
 * doorbell, and prints what one costs by the counter. With -icount that is in instructions, its own and
 * those of the hypervisor below. Built by neve/Makefile (traps), run by tests/e2e/neve-traps.bats; prints
 * "traps: NAME COST" for each.
 */
#include "common/bell_note.h"
#include "el2.h"

#define DOORBELL    0x0a000008ull
#define TIMES	    64
#define TIMES_TEXT  "64"
#define ERET_LOOP   2	  /* other instructions of its loop */
#define SPSR_ITSELF 0x3c9 /* EL2h, all masked */
#define TLBI_IPA    "sys #4, c8, c4, #1, x0"

/* As this build of a guest hypervisor does it. */
#if PARAVIRT
#define HOW(instruction) "hvc %1"
#else
#define HOW(instruction) instruction
#endif
#define CALL_TO_READ(name)  (CALL_MARK | REG_##name << CALL_NUMBER)
#define CALL_TO_WRITE(name) (CALL_TO_READ(name) | CALL_WRITE)
#define CALL_TO_TLBI(op1, m, op2) \
	(CALL_MARK | CALL_WRITE | (CALL_TLBI + ((op1) / 4 << 6 | (m) << 3 | (op2))) << CALL_NUMBER)

/* Each gets `value` in x0, and may change only x0 to x3. */
#define KIND(kind, text, call)                                           \
	static __attribute__((noinline)) void kind(uint64_t value)       \
	{                                                                \
		register uint64_t x0_ __asm__("x0") = value;             \
		__asm__ volatile(".rept " TIMES_TEXT "\n" text "\n.endr" \
				 : "+r"(x0_)                             \
				 : "i"(call)                             \
				 : "x1", "x2", "x3", "memory");          \
	}
#define READING(kind, name, REG) KIND(kind, HOW("mrs x0, " name), CALL_TO_READ(REG))
#define WRITING(kind, name, REG) KIND(kind, HOW("msr " name ", x0"), CALL_TO_WRITE(REG))

KIND(nothing, "", 0)
READING(read_vbar_el2, "vbar_el2", VBAR_EL2)
WRITING(write_vbar_el2, "vbar_el2", VBAR_EL2)
READING(read_hcr_el2, "hcr_el2", HCR_EL2)
WRITING(write_hcr_el2, "hcr_el2", HCR_EL2)
READING(read_sctlr_el1, "sctlr_el1", SCTLR_EL1)
WRITING(write_sctlr_el1, "sctlr_el1", SCTLR_EL1)
READING(read_vmcr, "s3_4_c12_c11_7", ICH_VMCR_EL2)
READING(read_cptr_el2, "cptr_el2", CPTR_EL2)
WRITING(write_cptr_el2, "cptr_el2", CPTR_EL2)
KIND(tlbi_ipa, HOW(TLBI_IPA), CALL_TO_TLBI(4, 4, 1))
KIND(read_id, "mrs x0, id_aa64mmfr0_el1", 0)
KIND(call_firmware, "ldr w0, =0x84000000\n smc #0", 0)

/* Each ERET returns to the next one: void return_to_itself(uint64_t unused), with ELR_EL2 = again. */
__asm__(".pushsection .text\n"
	"return_to_itself: mov x2, #" TIMES_TEXT "\n"
	"again: cbz x2, 1f\n sub x2, x2, #1\n" EXCEPTION_RETURN "\n"
	"1: ret\n"
	".popsection\n");

extern char again[] __attribute__((visibility("hidden")));
void return_to_itself(uint64_t unused);

static struct bell_note note;

_Noreturn void left(uint64_t vector);
_Noreturn void left(uint64_t vector)
{
	(void)vector;
	say("traps: a fault of its own\n");
	power_off();
}

static void ring(uint32_t kind, uint64_t iterations)
{
	note.magic = BELL_MAGIC;
	note.kind = kind;
	note.iterations = note.samples = iterations;
	__asm__ volatile("dsb sy" : : : "memory");
	*(volatile uint64_t *)DOORBELL = (uint64_t)&note;
}

static void say_number(uint64_t value)
{
	char digits[21] = { 0 };
	unsigned at = sizeof(digits) - 1;

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	say(digits + at);
}

static uint64_t ticks(void)
{
	instruction_barrier();
	return READ_REGISTER(cntpct_el0);
}

static uint64_t empty;

/* Inlined, so that `run` is a constant: pointers in data would have to be relocated first. `own`:
 * instructions of each besides the one that traps. */
static inline __attribute__((always_inline)) void measure(const char *name, void (*run)(uint64_t),
							  uint64_t value, unsigned own)
{
	uint64_t before, passed;

	for (unsigned at = 0; at < sizeof(note.bench) - 1; at++)
		if (!(note.bench[at] = name[at]))
			break;
	note.index++;
	ring(BELL_BEGIN, 0);
	before = ticks();
	run(value);
	passed = ticks() - before - empty;
	ring(BELL_END, TIMES);
	say("traps: ");
	say(name);
	say(" ");
	/* Rounded: a compiler may need one more instruction to call one kind than another. */
	say_number((passed + TIMES / 2) / TIMES - own);
	say("\n");
}

void first_cpu(void)
{
	uint64_t before;

	for (unsigned i = 0; i < 8; i++) {
		ring(BELL_BEGIN, 0);
		ring(BELL_END, 0);
	}
	before = ticks();
	nothing(0);
	empty = ticks() - before;
	WRITE(VBAR_EL2, (uint64_t)vectors);
	measure("mrs-vbar_el2", read_vbar_el2, 0, 0);
	measure("msr-vbar_el2", write_vbar_el2, (uint64_t)vectors, 0);
	measure("mrs-hcr_el2", read_hcr_el2, 0, 0);
	measure("msr-hcr_el2", write_hcr_el2, HCR_RW, 0);
	measure("mrs-cptr_el2", read_cptr_el2, 0, 0);
	measure("msr-cptr_el2", write_cptr_el2, CPTR_GUEST, 0);
	measure("mrs-sctlr_el1", read_sctlr_el1, 0, 0);
	measure("msr-sctlr_el1", write_sctlr_el1, 0x30d00800, 0);
	measure("mrs-ich_vmcr_el2", read_vmcr, 0, 0);
	measure("mrs-id_aa64mmfr0_el1", read_id, 0, 0);
	measure("tlbi-ipas2e1", tlbi_ipa, 0, 0);
	measure("smc", call_firmware, 0, 1);
	WRITE(SPSR_EL2, SPSR_ITSELF);
	WRITE(ELR_EL2, (uint64_t)again);
	measure("eret", return_to_itself, 0, ERET_LOOP);
	power_off();
}

void other_cpu(void)
{
	power_off();
}
