/*
 * A hostile guest hypervisor: PROGRAMS programs, each of random registers, random stage-2 tables, random
 * TLB maintenance or address translation, and a random nested VM, from a seed. It is an arm64 Image that
 * runs alone; its own timer ends a program that does not end by itself. Built by neve/Makefile (hostile),
 * run by tests/e2e/neve-nested.bats, but not with -icount: an EL1 that only aborts executes no
 * instructions, and time would stand still. At the end it prints how often each vector was taken, and
 * powers off.
 */
#include "el2.h"

#define TICKS	    (READ_REGISTER(cntfrq_el0) / 4000) /* time limit of one program */
#define TIMER	    27
#define TABLES	    4
/* With neve, writing VNCR_EL2 is a call that replaces the deferred page. */
#define NOT_WRITTEN (PARAVIRT == PARAVIRT_neve ? REG_VNCR_EL2 : REG_NONE)
#define HCR_NEVER   (HCR_TGE | HCR_E2H)

__asm__(".pushsection .head, \"ax\"\n"
	/* Only for the first CPU: the other takes no exceptions. */
	"left: adrp x1, stacks + 8192\n add x1, x1, :lo12:stacks + 8192\n mov sp, x1\n b was_left\n"
	".balign 4096\n"
	/* The nested VM: what it does depends on its registers. */
	"victim:\n"
	/* Keys and a signature: undefined without pointer authentication. */
	"tbz x3, #4, 1f\n msr s3_0_c2_c1_0, x2\n msr s3_0_c2_c1_1, x3\n msr s3_0_c2_c3_0, x1\n"
	".inst 0xdac10025\n" /* pacia x5, x1 */
	"1: ldr x4, [x1]\n str x4, [x2]\n msr sctlr_el1, x3\n isb\n ldrb w4, [x3]\n"
	"tlbi vmalle1\n dsb sy\n msr vbar_el1, x2\n mrs x5, id_aa64pfr0_el1\n msr s3_0_c12_c11_5, x4\n"
	"mrs x6, pmccntr_el0\n msr ttbr0_el1, x1\n msr ttbr1_el1, x2\n isb\n ldp x5, x6, [x3]\n"
	"tbz x4, #0, 1f\n smc #0\n 1: tbz x4, #1, 1f\n hvc #7\n 1: tbz x4, #2, 1f\n hvc #0xffff\n"
	"1: hvc #0x8123\n wfi\n"
	"2: b 2b\n"
	".popsection\n");

extern char victim[] __attribute__((visibility("hidden")));
void was_left(uint64_t vector);
_Noreturn void program(void);

uint64_t tables[TABLES][512] __attribute__((aligned(4096)));
volatile uint64_t deferred[512] __attribute__((aligned(4096)));
uint64_t seeds[2] = { 0, 0xbad }, by_vector[16];

/* Number of programs so far, where no VM can write it: a VM may access our memory and run our code. */
static uint64_t done(void)
{
	return READ(CNTHP_CVAL_EL2);
}

/* Each CPU has its own random numbers. */
static uint64_t next(void)
{
	uint64_t *seed = &seeds[(uint64_t)__builtin_frame_address(0) > (uint64_t)stacks[1]];

	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * 0x2545f4914f6cdd1dull;
}

/* Random values, more often near meaningful ones. */
static uint64_t value(void)
{
	uint64_t kind = next() % 5, bits = next();

	switch (kind) {
	case 0:
		return 0;
	case 1:
		return 1ull << (bits & 63) | 1ull << (bits >> 6 & 63);
	case 2:
		return (uint64_t)tables[bits % TABLES] + (bits >> 40 & 0xff8);
	case 3:
		return 0x40000000ull + (bits & 0x1fffffff);
	default:
		return bits;
	}
}

static uint64_t entry(void)
{
	uint64_t bits = next();

	switch (bits >> 60 & 7) {
	case 0:
	case 1:
		return (uint64_t)tables[bits % TABLES] | 3; /* a table: cycles are common */
	case 2:
	case 3:
	case 4: /* our own memory, or next to it */
		return (0x40000000ull + (bits & 0x1ffff000)) | (bits >> 32 & 0xfff) | 1;
	case 5: /* devices: ours, or the machine's */
		return (0x08000000ull + (bits & 0x3fff000)) | 0x7c3;
	default:
		return bits;
	}
}

/* Registers that are not written: those that would only disable the program itself, and missing ones. */
static bool is_spared(unsigned number)
{
	if ((number >= REG_ICH_LR0_EL2 + 4 && number <= REG_ICH_LR15_EL2) ||
	    (number > REG_ICH_AP0R0_EL2 && number <= REG_ICH_AP1R3_EL2 &&
	     number != REG_ICH_AP1R0_EL2))
		return true;
	switch (number) {
	case REG_VBAR_EL2:
	case REG_SCTLR_EL2:
	case REG_TCR_EL2:
	case REG_TTBR0_EL2:
	case REG_MAIR_EL2:
	case REG_CNTVOFF_EL2:
	case REG_CNTHCTL_EL2:
	case REG_HCR_EL2:
	case REG_SPSR_EL2:
	case REG_ELR_EL2:
	case REG_SP_EL1:
	case REG_ICC_SRE_EL2:
	case REG_ICC_SGI0R_EL1:
	case REG_ICC_ASGI1R_EL1:
		return true;
	}
	return false;
}

static void write_one(unsigned number, uint64_t to)
{
	switch (number) {
#define ROW(name, op0, op1, n, m, op2, class, mask, nest, page)                        \
	case REG_##name:                                                               \
		if (CLASS_##class != CLASS_IDENTITY && REG_##name != NOT_WRITTEN &&    \
		    NEST_##nest != NEST_TIMER && NEST_##nest != NEST_REDIRECT_VHE &&   \
		    REG_##name != REG_ICH_VTR_EL2 && REG_##name != REG_ICH_MISR_EL2 && \
		    REG_##name != REG_ICH_EISR_EL2 && REG_##name != REG_ICH_ELRSR_EL2) \
			WRITE(name, to);                                               \
		break;
		REGISTERS(ROW)
#undef ROW
	}
}

static void say_number(uint64_t number)
{
	char digits[24], *at = digits + sizeof(digits) - 1;

	*at = 0;
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	say(at);
}

static _Noreturn void finish(void)
{
	say("hostile: ");
	say_number(done());
	say(" programs");
	say(", left by vector");
	for (unsigned i = 0; i < 16; i++) {
		say(" ");
		say_number(by_vector[i]);
	}
	say("\n");
	power_off();
}

/* One key of pointer authentication. Its VM may write it only if HCR_EL2.APK is set. */
static uint64_t own_key(void)
{
	return done() * 0x2545f4914f6cdd1dull;
}

static void write_key(void)
{
	if (has_keys())
		WRITE_REGISTER(KEY_LOW, own_key());
}

static void look_at_key(void)
{
	if (!has_keys() || READ(HCR_EL2) & HCR_APK || READ_REGISTER(KEY_LOW) == own_key())
		return;
	say("hostile: its VM has written its key, after programs: ");
	say_number(done());
	say("\n");
	power_off();
}

static void set_timer(void)
{
	WRITE_REGISTER(cntv_cval_el0, READ_REGISTER(cntvct_el0) + TICKS);
	WRITE_REGISTER(cntv_ctl_el0, 1);
}

static void maintain(uint64_t which, uint64_t operand)
{
	switch (which % 8) {
	case 0:
		TLBI(TLBI_ALLE2);
		break;
	case 1:
		TLBI(TLBI_ALLE1);
		break;
	case 2:
		TLBI(TLBI_VMALLS12E1IS);
		break;
	case 3:
		TLBI(TLBI_VMALLE1IS);
		break;
	case 4: /* IPAS2E1IS */
#if PARAVIRT
		CALL_WRITE_(CALL_TLBI + (1 << 6 | 1), operand);
#else
		__asm__ volatile("sys #4, c8, c0, #1, %0" : : "r"(operand) : "memory");
#endif
		break;
	case 5: /* walks the VM's tables; at virtual EL2 done by the hypervisor below */
		__asm__ volatile("at s1e1r, %0" : : "r"(operand) : "memory");
		break;
	case 6:
		__asm__ volatile("at s1e0w, %0" : : "r"(operand) : "memory");
		break;
	default:
		break;
	}
}

_Noreturn void program(void)
{
	uint64_t bits, from;

	if (done() >= PROGRAMS)
		finish();
	WRITE(CNTHP_CVAL_EL2, done() + 1);
	write_key();
	seeds[0] = done() * 0x9e3779b97f4a7c15ull;
	if (done() % 100 == 0)
		say(".");
	for (unsigned i = 0; i < 16; i++)
		tables[next() % TABLES][next() % 512] = entry();
	for (uint64_t i = next() % 12; i; i--) {
		unsigned number = (unsigned)(next() % REGISTER_COUNT);

		if (!is_spared(number))
			write_one(number, value());
	}
	WRITE(VTTBR_EL2, (uint64_t)tables[next() % TABLES] | next() << 56);
	bits = next();
	WRITE(VTCR_EL2, bits % 4 ? 0x80023559ull | (bits & 0xc0) : bits);
	WRITE(HCR_EL2, (next() & ~HCR_NEVER) | HCR_IMO | HCR_RW | (bits >> 8 & 3 ? HCR_VM : 0));
	bits = next();
	maintain(bits, value());
	WRITE(SPSR_EL2, bits % 8 ? 0x3c5 : next() & ~0x18ull) /* not to EL2, not to AArch32 */;
	from = (uint64_t)victim;
	WRITE(ELR_EL2, bits >> 8 & 7 ? from : value());
	WRITE(CNTHCTL_EL2, 3);
	set_timer();
	{
		register uint64_t x1 __asm__("x1") = value();
		register uint64_t x2 __asm__("x2") = value();
		register uint64_t x3 __asm__("x3") = value();

		__asm__ volatile(EXCEPTION_RETURN : : "r"(x1), "r"(x2), "r"(x3) : "memory");
	}
	for (;;)
		;
}

void was_left(uint64_t vector)
{
	uint64_t intid;

	by_vector[vector & 15]++;
	look_at_key();
	WRITE_REGISTER(cntv_ctl_el0, 0);
	intid = READ_REGISTER(s3_0_c12_c12_0);
	if (intid < 1020)
		WRITE_REGISTER(s3_0_c12_c12_1, intid);
	program();
}

/* With the mechanism `neve`: gives our memory as the deferred page. */
static void share_page(void)
{
#if PARAVIRT == PARAVIRT_neve
	CALL_WRITE_(REG_VNCR_EL2, (uint64_t)deferred);
	WRITE_REGISTER(ttbr1_el1, deferred);
#endif
}

void first_cpu(void)
{
	share_page();
	WRITE(CNTHP_CVAL_EL2, 0);
	WRITE(VBAR_EL2, (uint64_t)vectors);
	*(volatile uint32_t *)GICD = 0x12;
	*(volatile uint32_t *)(GICR + 0x14) = 0;
	*(volatile uint32_t *)(GICR + 0x10080) = ~0u;
	*(volatile uint32_t *)(GICR + 0x10100) = 1u << TIMER | 0xf; /* and four SGIs */
	WRITE_REGISTER(s3_0_c4_c6_0, 0xf0);			    /* ICC_PMR_EL1 */
	WRITE_REGISTER(s3_0_c12_c12_7, 1ull);			    /* ICC_IGRPEN1_EL1 */
	instruction_barrier();
	start_other(); /* if there is one */
	program();
}

/* Meanwhile, for ever: storms of interrupts and of TLB maintenance, tables that change while they are
 * walked, and a deferred page that changes while its CPU enters its VM. */
void other_cpu(void)
{
	for (;;) {
		uint64_t kind = next() % 4, begun = READ_REGISTER(cntvct_el0);

		for (uint64_t i = next() % 200; i; i--) {
			uint64_t bits = next();

			if (kind == 0)
				WRITE(ICC_SGI1R_EL1, (bits & 0xf) << 24 | 1);
			else if (kind == 1)
				maintain(bits, value());
			else if (kind == 2)
				tables[bits % TABLES][bits >> 8 & 511] = entry();
			else if ((bits & 255) !=
				 OFFSET_CNTVOFF_EL2 / 8) /* this and IMO are kept for the timer */
				deferred[bits & 255] = value() | HCR_IMO;
		}
		/* The first CPU must make progress, or nothing races. */
		while (READ_REGISTER(cntvct_el0) - begun < TICKS)
			;
	}
}
