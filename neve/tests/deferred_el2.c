/*
 * A guest hypervisor whose VM is one too, by FEAT_NV2. It moves the page that its VNCR_EL2 names,
 * write-protects it and unmaps it, and checks where its VM's registers go. VNCR_EL2 has an address of
 * virtual EL2 that is outside its RAM. Built by neve/Makefile (deferred), run by
 * tests/e2e/neve-nested.bats; prints "deferred: all well", or what failed.
 */
#define RUNS_VM
#include "el2.h"

#define WINDOW	    0x140000000ull
#define VTTBR_WORD  (0x20 / 8) /* VTTBR_EL2 in the page */
#define MOVES	    100
#define PAGE	    0x703ull /* normal memory, readable, writable */
#define READ_ONLY   (1ull << 7)
#define BLOCK	    0x701ull
#define ATTRIBUTE_1 (1ull << 2)
#define TCR_VALUE   (25ull | 1 << 8 | 1 << 10 | 3 << 12 | 1ull << 23 | 2 << 16 | 1ull << 31)
#define SCTLR_VALUE (0x30c50830ull | 1 << 0 | 1 << 2 | 1 << 12)
#define VM_SPSR	    0x3c5
#define FROM_VM	    8 /* vector: synchronous, from a lower level */
#define EC_VNCR	    0x25
#define ISS_VNCR    (1ull << 13)

/* The VM. `writer` writes x0 to its VTTBR_EL2, reads it back and calls; `racer` writes for ever. */
__asm__(".pushsection .text\n"
	"writer: msr s3_4_c2_c1_0, x0\n mrs x1, s3_4_c2_c1_0\n hvc #1\n"
	"racer: add x0, x0, #1\n msr s3_4_c2_c1_0, x0\n b racer\n"
	".popsection\n");

extern char writer[] __attribute__((visibility("hidden")));
extern char racer[] __attribute__((visibility("hidden")));
uint64_t root[512] __attribute__((aligned(4096)));
uint64_t middle[512] __attribute__((aligned(4096)));
uint64_t last[512] __attribute__((aligned(4096)));
volatile uint64_t pages[2][512] __attribute__((aligned(4096)));

_Noreturn void own_fault(void)
{
	say("deferred: a fault of its own\n");
	power_off();
}

static void expect(bool good, const char *what)
{
	if (good)
		return;
	say("deferred: failed: ");
	say(what);
	say("\n");
	power_off();
}

/* Maps the window to a page, on all CPUs. */
static void show(uint64_t entry)
{
	*(volatile uint64_t *)last = entry;
	__asm__ volatile("dsb ish\n\tsys #4, c8, c3, #1, %0\n\tdsb ish\n\tisb"
			 :
			 : "r"(WINDOW >> 12)
			 : "memory");
}

static uint64_t shown(unsigned page)
{
	return (uint64_t)pages[page] | PAGE | ATTRIBUTE_1;
}

static void prepare(void)
{
	WRITE(VBAR_EL2, (uint64_t)vectors);
	WRITE(MAIR_EL2, 0xff04);
	WRITE(TCR_EL2, TCR_VALUE);
	WRITE(TTBR0_EL2, (uint64_t)root);
	instruction_barrier();
	WRITE(SCTLR_EL2, SCTLR_VALUE);
	instruction_barrier();
	WRITE(VNCR_EL2, WINDOW);
	WRITE(HCR_EL2, HCR_RW | HCR_NV | HCR_NV1 | HCR_NV2);
	WRITE(SPSR_EL2, VM_SPSR);
}

static void expect_fault(uint64_t status, const char *what)
{
	uint64_t esr;

	expect(run((uint64_t)writer, 1) == FROM_VM, what);
	esr = READ(ESR_EL2);
	expect(esr >> ESR_CLASS_SHIFT == EC_VNCR && esr & ISS_VNCR, what);
	expect((esr & ABORT_STATUS) == status && esr & ABORT_WRITE, what);
	expect(READ(FAR_EL2) == WINDOW + 0x20, what);
	expect(READ(ELR_EL2) == (uint64_t)writer, what);
}

static void expect_call(unsigned page, uint64_t value)
{
	expect(run((uint64_t)writer, value) == FROM_VM, "the VM comes back");
	expect(READ(ESR_EL2) >> ESR_CLASS_SHIFT == EC_HVC, "... by its call");
	expect(pages[page][VTTBR_WORD] == value, "its register is in the page");
}

void first_cpu(void)
{
	root[0] = BLOCK; /* devices */
	root[1] = 0x40000000 | BLOCK | ATTRIBUTE_1;
	root[WINDOW >> 30] = (uint64_t)middle | 3;
	middle[0] = (uint64_t)last | 3;
	last[0] = shown(0);
	__asm__ volatile("dsb sy" : : : "memory");
	prepare();
	expect_call(0, 11);
	show(shown(1));
	expect_call(1, 12);
	expect(pages[0][VTTBR_WORD] == 11, "the old page is unchanged");
	show(0);
	expect_fault(7, "a page that is not there: translation, level 3");
	show(shown(0) | READ_ONLY);
	expect_fault(15, "a page that may not be written: permission, level 3");
	show(0x09000000 | PAGE);
	expect_fault(16, "a device: an external abort");
	show(shown(0));
	expect_call(0, 13);

	/* The other CPU's VM writes all the time: after the TLBI nothing may go to the old page. */
	start_other();
	for (unsigned i = 0; i < MOVES; i++) {
		unsigned from = i & 1, to = !from;

		while (pages[from][VTTBR_WORD] < 1000)
			;
		pages[to][VTTBR_WORD] = 0;
		show(shown(to));
		pages[from][VTTBR_WORD] = 7;
		while (pages[to][VTTBR_WORD] < 1000)
			;
		expect(pages[from][VTTBR_WORD] == 7, "no CPU writes to the old page");
	}
	say("deferred: all well\n");
	power_off();
}

void other_cpu(void)
{
	prepare();
	run((uint64_t)racer, 1000);
	expect(false, "the racing VM never leaves");
	power_off();
}
