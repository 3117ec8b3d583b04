/*
 * Rows that try to crash a hypervisor on ARM, one way each (tests/e2e/neve.bats). Built into a guest of
 * their own by EXTRA_BENCH. Where hardware would raise an exception, the guest must get it; nothing may
 * affect the hypervisor or other VMs.
 */
#include "row.h"
#include "tests/guests/wrong_text.h"

/* Guest-physical addresses: without device and memory; the interrupt controller; the UART; the test
 * device and its doorbell. */
#define NOWHERE	   0x20000000ull
#define GICD	   0x08000000ull
#define GICR	   0x080a0000ull
#define UART	   0x09000000ull
#define TEST	   0x0a000000ull
#define DOORBELL   (TEST + 8)
/* Of the 256 MiB that neve gives a VM by default. */
#define MEMORY_END 0x50000000ull

/* A loop without a control, which would be dead code. */
#define LOOP(name, op)                                                \
	TIMED_BODY(#name "_run", TIMED_COUNT "\n1:\t" op TIMED_NEXT); \
	timed_loop name##_run

LOOP(hostile_load, "mov x2, #0x20000000\n\tldr x2, [x2]");
ROW(hostile_load, "hostile-load", .run = hostile_load_run);

LOOP(hostile_fetch, "mov x2, #0x20000000\n\tblr x2");
ROW(hostile_fetch, "hostile-fetch", .run = hostile_fetch_run);

/* Accesses that the syndrome does not describe (ISV is 0). */
LOOP(hostile_pair, "mov x2, #0x08000000\n\tldp x3, x4, [x2]");
ROW(hostile_pair, "hostile-pair", .run = hostile_pair_run);
LOOP(hostile_zero, "mov x2, #0x0a000000\n\tdc zva, x2");
ROW(hostile_zero, "hostile-zero", .run = hostile_zero_run);

/* Across the end of a device. */
LOOP(hostile_end, "mov x2, #0x0a000000\n\tadd x2, x2, #0xffc\n\tldr x3, [x2]");
ROW(hostile_end, "hostile-end", .run = hostile_end_run);

/* Above the addresses that stage 2 can translate, and above those of the guest's ID registers. */
static enum check check_far(struct bench_run *run)
{
	uint64_t control, value;

	__asm__ volatile("mrs %0, tcr_el1" : "=r"(control));
	control = (control & ~(7ull << 32)) | 5ull << 32; /* 48 bits */
	__asm__ volatile("msr tcr_el1, %0\n\tisb" : : "r"(control));
	if (!install_pte(window_base(), 1ull << 42, 4096))
		return CHECK_FAILED;
	__asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"(window_base()) : "memory");
	bench_note(run, "it gave %lx", value);
	return CHECK_FAILED;
}
ROW(hostile_far, "hostile-far", .check = check_far);

LOOP(hostile_hvc, "hvc #1");
ROW(hostile_hvc, "hostile-hvc", .run = hostile_hvc_run);
LOOP(hostile_smc, "smc #0x1234");
ROW(hostile_smc, "hostile-smc", .run = hostile_smc_run);
/* A read of PMCR_EL0; of an implementation defined register; of the vector length (SVE). */
LOOP(hostile_pmu, "mrs x2, s3_3_c9_c12_0");
ROW(hostile_pmu, "hostile-pmu", .run = hostile_pmu_run);
LOOP(hostile_own, "mrs x2, s3_0_c15_c2_0");
ROW(hostile_own, "hostile-own", .run = hostile_own_run);
LOOP(hostile_sve, ".inst 0x04bf5022");
ROW(hostile_sve, "hostile-sve", .run = hostile_sve_run);

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* One random access of any width to a device's address. */
static void touch(uint64_t address, uint64_t value)
{
	switch (random_bits() % 8) {
	case 0:
		__asm__ volatile("ldrb %w0, [%1]" : "=r"(value) : "r"(address) : "memory");
		break;
	case 1:
		__asm__ volatile("ldrsh %0, [%1]" : "=r"(value) : "r"(address & ~1ull) : "memory");
		break;
	case 2:
		__asm__ volatile("ldr %w0, [%1]" : "=r"(value) : "r"(address & ~3ull) : "memory");
		break;
	case 3:
		__asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"(address & ~7ull) : "memory");
		break;
	case 4:
		__asm__ volatile("strb %w0, [%1]" : : "r"(value), "r"(address) : "memory");
		break;
	case 5:
		__asm__ volatile("strh %w0, [%1]" : : "r"(value), "r"(address & ~1ull) : "memory");
		break;
	case 6:
		__asm__ volatile("str %w0, [%1]" : : "r"(value), "r"(address & ~3ull) : "memory");
		break;
	default:
		__asm__ volatile("str %0, [%1]" : : "r"(value), "r"(address & ~7ull) : "memory");
	}
}

/* 20,000 accesses to the interrupt controller and the test device, including its doorbell: notes at
 * addresses without memory, across the end of memory, and inside it. */
static enum check check_registers(struct bench_run *run)
{
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t bits = random_bits(), value = random_bits();

		if (bits % 4 == 0)
			touch(GICD + bits % 0x10000, value);
		else if (bits % 4 == 1)
			touch(GICR + (bits >> 2) % 0x20000, value);
		else if (bits % 4 == 2)
			touch(GICD + (bits >> 2) % 0xd00, value);
		else
			touch(bits >> 32 & 1 ? DOORBELL : TEST + (bits >> 2) % 0xff8,
			      value >> (value % 64));
	}
	bench_note(run, "still here");
	return CHECK_PROVED;
}
ROW(hostile_registers, "hostile-registers", .check = check_registers);

/* SGIs to all CPUs and to none, and calls of every PSCI function except those that end the machine or a CPU. */
static enum check check_calls(struct bench_run *run)
{
	for (unsigned i = 0; i < 20000; i++) {
		register uint64_t x0 __asm__("x0") = 0x84000000 | (random_bits() & 0x4000001f);
		register uint64_t x1 __asm__("x1") = random_bits() >> (random_bits() % 64);
		register uint64_t x2 __asm__("x2") = random_bits();
		register uint64_t x3 __asm__("x3") = random_bits();
		uint64_t function = x0 & 0x1f;

		__asm__ volatile("msr s3_0_c12_c11_5, %0\n\tmsr s3_0_c12_c11_7, %1"
				 :
				 : "r"(random_bits()), "r"(random_bits()));
		/* CPU_SUSPEND may wait forever; CPU_OFF, SYSTEM_OFF and SYSTEM_RESET end the test; CPU_ON would
		 * start a CPU at a random address. */
		if (function == 1 || function == 2 || function == 3 || function == 8 ||
		    function == 9)
			continue;
		if (i % 2)
			__asm__ volatile("hvc #0"
					 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
					 :
					 : "memory");
		else
			__asm__ volatile("smc #0"
					 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
					 :
					 : "memory");
	}
	bench_note(run, "still here");
	return CHECK_PROVED;
}
ROW(hostile_calls, "hostile-calls", .check = check_calls);

/* A doorbell note whose name is not terminated, and whose numbers overflow. */
static struct bell_note note;

static void ring(const struct bench_run *run, uint64_t at)
{
	(void)run;
	__asm__ volatile("dsb sy\n\tstr %0, [%1]" : : "r"(at), "r"(DOORBELL) : "memory");
}

static enum check check_bell(struct bench_run *run)
{
	const uint64_t ends[] = { (uint64_t)&note, 0x4ffffff8, UINT64_MAX - 8, 0, NOWHERE };

	note.magic = BELL_MAGIC;
	note.iterations = note.samples = UINT64_MAX;
	for (unsigned i = 0; i < sizeof(note.bench); i++)
		note.bench[i] = (char)(i % 2 ? '"' : 1);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		for (note.kind = 0; note.kind < 4; note.kind++)
			ring(run, ends[i]);
	bench_note(run, "still here");
	return takes_no_wrong_text(run, NOWHERE, MEMORY_END, ring) ? CHECK_PROVED : CHECK_FAILED;
}
ROW(hostile_bell, "hostile-bell", .check = check_bell);

/* Not hostile: a hundred interrupts of the virtual timer, each acknowledged and ended here. Every second
 * one comes at once, before the hypervisor has seen the end of the one before. */
#define TIMER_INTID 27
#define GICR_ENABLE (GICR + 0x10100)

static enum check check_timer(struct bench_run *run)
{
	unsigned came = 0;

	mmio_write32(GICR_ENABLE, 1u << TIMER_INTID);
	for (unsigned i = 0; i < 100; i++) {
		uint64_t intid = 1023;

		__asm__ volatile("msr cntv_tval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb"
				 :
				 : "r"((uint64_t)(i % 2 ? 0 : 1000)), "r"(1ull));
		for (unsigned wait = 0; wait < 100000 && intid != TIMER_INTID; wait++)
			__asm__ volatile("mrs %0, s3_0_c12_c12_0" : "=r"(intid));
		came += intid == TIMER_INTID;
		__asm__ volatile("msr cntv_ctl_el0, xzr\n\tisb\n\tmsr s3_0_c12_c12_1, %0\n\tisb"
				 :
				 : "r"(intid));
	}
	bench_note(run, "%u of 100 came", came);
	return came == 100 ? CHECK_PROVED : CHECK_FAILED;
}
ROW(timer, "timer", .check = check_timer);

/* Not hostile either: typed bytes reach the guest's port, all of them and in order. */
static const char typed[] = "typed words, more than the hardware's port holds at once";

static enum check check_typed(struct bench_run *run)
{
	unsigned came = 0;

	for (unsigned wait = 0; wait < 10000000 && typed[came]; wait++) {
		if (mmio_read32(UART + 0x18) & 0x10)
			continue;
		if (mmio_read32(UART) != (uint8_t)typed[came])
			return CHECK_FAILED;
		came++;
	}
	bench_note(run, "%u bytes came", came);
	return typed[came] ? CHECK_FAILED : CHECK_PROVED;
}
ROW(typed, "typed", .check = check_typed);

/* Translation tables at an address without memory: every fetch aborts, that of the vectors too. */
LOOP(hostile_tables, "mov x2, #0x20000000\n\tmsr ttbr0_el1, x2\n\tisb\n\ttlbi vmalle1\n\t"
		     "dsb sy\n\tisb");
ROW(hostile_tables, "hostile-tables", .run = hostile_tables_run);

/* SYSTEM_RESET. */
LOOP(hostile_reset, "mov x0, #0x84000000\n\tadd x0, x0, #9\n\thvc #0");
ROW(hostile_reset, "hostile-reset", .run = hostile_reset_run);
