/*
 * A guest hypervisor that checks whether virtual EL2 keeps the architecture's rules: which
 * pointer-authentication keys are written, whether virtual interrupts of HCR_EL2 arrive, what the GIC says
 * about its list registers, what an exception of its own looks like, what a VM's debug registers do, what its
 * second stage and AT translate. It also runs at EL2, where it expects the same. Built by neve/Makefile (rules),
 * run by tests/e2e/neve-nested.bats; prints "rules: all well", or what failed.
 */
#define RUNS_VM
#include "el2.h"

#define VM_SPSR	   0x3c5
#define FROM_VM	   8 /* vector: synchronous, from a lower level */
#define SCTLR_ENIA (1ull << 31)
#define EC_KEYS	   0x09
#define OWN_KEY	   0x1111111111111111
#define VMS_KEY	   0x2222222222222222
#define RECEIVING  (HCR_FMO | HCR_IMO | HCR_AMO)

/* Immediates of the calls by which its VM ends: at its end, and from each of its vectors. */
#define CALL_END    0x20
#define CALL_VECTOR 0x40

/* The VM's programs: write its key; sign with it; exit at once; write MDSCR_EL1; load a word; unmask
 * interrupts and wait. */
__asm__(".pushsection .text\n"
	"vm_keys: msr s3_0_c2_c1_0, x0\n isb\n hvc #0x20\n"
	"vm_signs: msr sctlr_el1, x0\n isb\n .inst 0xdac10022\n hvc #0x20\n" /* pacia x2, x1 */
	"vm_masked: hvc #0x20\n"
	"vm_debugs: msr mdscr_el1, x0\n isb\n hvc #0x20\n"
	"vm_loads: ldr x1, [x0]\n hvc #0x20\n"
	"vm_stores: str x1, [x0]\n hvc #0x20\n"
	"vm_waits: msr vbar_el1, x0\n isb\n msr daifclr, #7\n isb\n"
	"mov x1, #1000\n 1: subs x1, x1, #1\n b.ne 1b\n hvc #0x20\n"
	"own_eretaa: mov x11, sp\n adr x10, 1f\n .inst 0xdac1016a\n" /* pacia x10, x11 */
	"msr s3_4_c4_c0_1, x10\n mov x12, #0x3c9\n msr s3_4_c4_c0_0, x12\n isb\n"
	".inst 0xd69f0bff\n 1: ret\n"
	".balign 2048\n"
	"vm_vectors:\n"
	".set number, 0x40\n"
	".rept 16\n .balign 128\n hvc #number\n .set number, number + 1\n .endr\n"
	".popsection\n");

extern char vm_keys[] __attribute__((visibility("hidden")));
extern char vm_signs[] __attribute__((visibility("hidden")));
extern char vm_masked[] __attribute__((visibility("hidden")));
extern char vm_debugs[] __attribute__((visibility("hidden")));
extern char vm_loads[] __attribute__((visibility("hidden")));
extern char vm_stores[] __attribute__((visibility("hidden")));
extern char vm_waits[] __attribute__((visibility("hidden")));
extern char vm_vectors[] __attribute__((visibility("hidden")));

volatile uint64_t deferred[512] __attribute__((aligned(4096)));

static void say_hex(uint64_t value)
{
	char digit[2] = { 0 };

	for (int at = 60; at >= 0; at -= 4) {
		digit[0] = "0123456789abcdef"[value >> at & 15];
		say(digit);
	}
}

static bool all_well = true;

static void expect(const char *what, uint64_t found, uint64_t wanted)
{
	if (found == wanted)
		return;
	all_well = false;
	say("rules: failed: ");
	say(what);
	say(": ");
	say_hex(found);
	say(", not ");
	say_hex(wanted);
	say("\n");
}

/* Exceptions of its own that own_hvc() takes. */
static volatile struct {
	bool wanted;
	uint64_t esr, elr, spsr;
} own;

_Noreturn void own_fault(void)
{
	if (own.wanted) {
		own.wanted = false;
		own.esr = READ(ESR_EL2);
		own.elr = READ(ELR_EL2);
		own.spsr = READ(SPSR_EL2);
		return_from_own();
	}
	say("rules: a fault of its own, ESR_EL2 ");
	say_hex(READ(ESR_EL2));
	say("\n");
	power_off();
}

/* Runs the VM, which must exit by a synchronous exception: returns its class, or the immediate of a call. */
static uint64_t class_of(const char *program, uint64_t hcr, uint64_t x0)
{
	WRITE(HCR_EL2, HCR_RW | hcr);
	WRITE(SPSR_EL2, VM_SPSR);
	expect("the VM's vector", run((uint64_t)program, x0), FROM_VM);
	return READ(ESR_EL2) >> ESR_CLASS_SHIFT;
}

static uint64_t call_of(const char *program, uint64_t hcr, uint64_t x0)
{
	expect("the VM's last exception is a call", class_of(program, hcr, x0), EC_HVC);
	return READ(ESR_EL2) & 0xffff;
}

/* ---- Pointer authentication ----------------------------------------------------------------- */

static void keys(void)
{
	uint64_t signs = 0x30d00800 | SCTLR_ENIA;

	if (!has_keys()) {
		say("rules: no keys on this CPU\n");
		return;
	}
	WRITE_REGISTER(KEY_LOW, OWN_KEY);
	expect("without APK a key traps", class_of(vm_keys, HCR_API, VMS_KEY), EC_SYSREG);
	expect("... where it is written", READ(ELR_EL2), (uint64_t)vm_keys);
	expect("... with the key in its syndrome", READ(ESR_EL2) & ENCODING_MASK,
	       ENCODING(3u, 0u, 2u, 1u, 0u));
	expect("... and is as before", READ_REGISTER(KEY_LOW), OWN_KEY);
	expect("without API its use traps", class_of(vm_signs, HCR_APK, signs), EC_KEYS);
	expect("with API it does not", call_of(vm_signs, HCR_API, signs), CALL_END);
	expect("with APK it is written", call_of(vm_keys, HCR_APK, VMS_KEY), CALL_END);
	expect("... and one for EL1 and EL2", READ_REGISTER(KEY_LOW), VMS_KEY);
}

void own_eretaa(void);

/* EL2 signs if SCTLR_EL2 allows it; without VHE, by that format. */
static void own_signature(void)
{
	register uint64_t x2 __asm__("x2") = 0x40000000;
	register uint64_t x1 __asm__("x1") = 1;

	if (!has_keys())
		return;
	WRITE(SCTLR_EL2, 0x30c50830 | SCTLR_ENIA);
	instruction_barrier();
	__asm__ volatile(".inst 0xdac10022" : "+r"(x2) : "r"(x1));
	expect("EL2 signs", x2 != 0x40000000, true);
#if !PARAVIRT
	own_eretaa(); /* returns: to its own code, by a signed address */
#endif
	WRITE(SCTLR_EL2, 0x30c50830);
	instruction_barrier();
}

/* ---- Virtual interrupts of HCR_EL2 ---------------------------------------------------------- */

static void virtual_interrupts(void)
{
	static const struct {
		uint64_t pending, receives;
		unsigned vector; /* at EL1h */
	} kinds[] = { { HCR_VI, HCR_IMO, 5 }, { HCR_VF, HCR_FMO, 6 }, { HCR_VSE, HCR_AMO, 7 } };

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint64_t pending = kinds[i].pending, kept = pending == HCR_VSE ? 0 : pending;

		expect("one that is masked waits", call_of(vm_masked, RECEIVING | pending, 0),
		       CALL_END);
		expect("... and is pending", READ(HCR_EL2) & pending, pending);
		expect("VI, VF, VSE arrive",
		       call_of(vm_waits, RECEIVING | pending, (uint64_t)vm_vectors),
		       CALL_VECTOR + kinds[i].vector);
		expect("... a system error once", READ(HCR_EL2) & pending, kept);
		expect("none if EL2 does not take the physical ones",
		       call_of(vm_waits, (RECEIVING | pending) & ~kinds[i].receives,
			       (uint64_t)vm_vectors),
		       CALL_END);
		expect("... and it stays pending", READ(HCR_EL2) & pending, pending);
	}
}

/* ---- List registers ------------------------------------------------------------------------- */

#define LR_PENDING  (1ull << 62)
#define LR_GROUP1   (1ull << 60)
#define LR_TELL_END (1ull << 41)
#define ON	    1
#define TELL_FEW    2 /* ICH_HCR_EL2.UIE; NPIE is 8, VGrp1EIE 0x40, VGrp1DIE 0x80 */

static void lists(void)
{
	uint64_t all = (2ull << (READ(ICH_VTR_EL2) & 0x1f)) - 1;

	expect("ELRSR at first", READ(ICH_ELRSR_EL2), all);
	WRITE(ICH_HCR_EL2, ON | TELL_FEW | 8);
	expect("MISR: few, none pending", READ(ICH_MISR_EL2), 0xa);
	WRITE(ICH_LR0_EL2, LR_PENDING | LR_GROUP1 | 40);
	expect("ELRSR with one pending", READ(ICH_ELRSR_EL2), all & ~1ull);
	expect("MISR: few", READ(ICH_MISR_EL2), 2);
	WRITE(ICH_LR1_EL2, LR_GROUP1 | LR_TELL_END | 41);
	expect("EISR with one ended", READ(ICH_EISR_EL2), 2);
	expect("MISR: few, ended", READ(ICH_MISR_EL2), 3);
	expect("ELRSR with both", READ(ICH_ELRSR_EL2), all & ~3ull);
	WRITE(ICH_HCR_EL2, ON | 0x40);
	expect("MISR: ended, group 1 is off", READ(ICH_MISR_EL2), 1);
	WRITE(ICH_VMCR_EL2, 2);
	expect("MISR: ended, group 1 is on", READ(ICH_MISR_EL2), 0x41);
	expect("the VM runs", call_of(vm_masked, RECEIVING, 0), CALL_END);
	expect("ELRSR after that", READ(ICH_ELRSR_EL2), all & ~3ull);
	expect("MISR after that", READ(ICH_MISR_EL2), 0x41);
	WRITE(ICH_HCR_EL2, 0);
	expect("MISR: ended, though off", READ(ICH_MISR_EL2), 1);
	WRITE(ICH_LR0_EL2, 0);
	WRITE(ICH_LR1_EL2, 0);
	expect("ELRSR at last", READ(ICH_ELRSR_EL2), all);
	expect("EISR at last", READ(ICH_EISR_EL2), 0);
}

/* ---- An exception of its own ---------------------------------------------------------------- */

#define MODE	  0xf
#define MODE_EL2H 9

static void own_exception(void)
{
	own.wanted = true;
	own_hvc(); /* returns: the exception's return goes to EL2, not to the VM */
	expect("its own call arrives", own.wanted, false);
	expect("... as a call", own.esr >> ESR_CLASS_SHIFT, EC_HVC);
	expect("... from EL2h", own.spsr & MODE, MODE_EL2H);
}

/* ---- The timer's interrupt -------------------------------------------------------------------- */

#define TIMER_PPI    26 /* of EL2's physical timer */
#define GICR_PENDING (GICR + 0x10200)

/* EL2's physical timer: with VHE by EL1's name. */
static void set_timer(uint64_t control)
{
#if VHE
	WRITE_REGISTER(cntp_cval_el0, 0);
	WRITE_REGISTER(cntp_ctl_el0, control);
#else
	WRITE(CNTHP_CVAL_EL2, 0);
	WRITE(CNTHP_CTL_EL2, control);
#endif
	instruction_barrier();
}

static uint32_t timer_pending(void)
{
	return *(volatile uint32_t *)GICR_PENDING >> TIMER_PPI & 1;
}

static void timer_line(void)
{
	set_timer(CNT_CTL_ENABLE);
	expect("a timer that has expired is pending", timer_pending(), 1);
	set_timer(0);
	expect("... and is not when it is off", timer_pending(), 0);
	set_timer(CNT_CTL_ENABLE);
	expect("... and is when it is on again", timer_pending(), 1);
	set_timer(CNT_CTL_ENABLE | CNT_CTL_IMASK);
	expect("... and is not when it is masked", timer_pending(), 0);
	set_timer(0);
}

/* ---- Debug registers ------------------------------------------------------------------------- */

#define MDSCR_ALL  0xa001 /* MDE, KDE, SS */
#define MDSCR_MDE  (1u << 15)
#define MDCR_TO_US (1u << 8) /* TDE */
#define WATCH_ALL  0x1fff    /* 8 bytes, loads and stores, EL1 and EL0, enabled */

/* A step of the hypervisor would be a fault of its own. */
static void allow_debug(void)
{
	__asm__ volatile("msr daifclr, #8\n nop\n nop\n msr daifset, #8" : : : "memory");
}

static void debug(void)
{
	static volatile uint64_t watched;

	WRITE_REGISTER(oslar_el1, 0);
	WRITE(MDSCR_EL1, 0);
	expect("the VM writes MDSCR_EL1", call_of(vm_debugs, 0, MDSCR_ALL), CALL_END);
	expect("... which is then its value", READ(MDSCR_EL1), MDSCR_ALL);
	own_exception();
	allow_debug();
	WRITE(MDSCR_EL1, 0);
	instruction_barrier();
	allow_debug();

	WRITE_REGISTER(dbgwvr0_el1, (uint64_t)&watched);
	WRITE_REGISTER(dbgwcr0_el1, WATCH_ALL);
	WRITE(MDSCR_EL1, MDSCR_MDE);
	WRITE(MDCR_EL2, MDCR_TO_US);
	expect("a watchpoint of the VM", class_of(vm_loads, 0, (uint64_t)&watched), EC_WATCHPOINT);
	expect("... has its address", READ(FAR_EL2), (uint64_t)&watched);
	WRITE_REGISTER(dbgwcr0_el1, 0);
	WRITE(MDSCR_EL1, 0);
	WRITE(MDCR_EL2, 0);
}

/* ---- Stage 2, and AT -------------------------------------------------------------------------- */

#define GIB	      0x40000000ull
#define FAR_IPA	      (512 * GIB) /* in the second of two concatenated tables */
#define BLOCK	      (1 | LEAF_MEMORY | LEAF_READ | LEAF_WRITE | LEAF_SHARED | LEAF_ACCESSED)
#define VTCR_40_BITS  (VTCR_RES1 | (64 - 40) | 1 << VTCR_SL0_SHIFT | 2 << TCR_EL2_PS_SHIFT)
#define READ_ONLY_IPA (3 * GIB)

static uint64_t stage2[1024] __attribute__((aligned(8192)));

#if !PARAVIRT
#define TRANSLATE(instruction, address)                                            \
	({                                                                         \
		__asm__ volatile("at " instruction ", %0\n isb" : : "r"(address)); \
		READ_REGISTER(par_el1);                                            \
	})

static void translations(uint64_t here)
{
	uint64_t par;

	expect("AT of EL2", TRANSLATE("s1e2r", here) & PAR_PAGE, here & ~0xfffull);
	expect("AT of stages 1 and 2", TRANSLATE("s12e1r", FAR_IPA + 0x1000) & PAR_PAGE,
	       (here & ~(GIB - 1)) + 0x1000);
	par = TRANSLATE("s12e1w", FAR_IPA + GIB);
	expect("... where nothing is mapped", par & (PAR_F | PAR_S), PAR_F | PAR_S);
	expect("... with the status", par >> PAR_FST & 0x3f, STATUS_TRANSLATION | 1);
}
#endif

static void second_stage(void)
{
	uint64_t here = (uint64_t)stage2, base = here & ~(GIB - 1);

	stage2[here / GIB] = base | BLOCK;
	stage2[FAR_IPA / GIB] = base | BLOCK;
	stage2[READ_ONLY_IPA / GIB] = base | (BLOCK & ~LEAF_WRITE);
	WRITE(VTCR_EL2, VTCR_40_BITS);
	WRITE(VTTBR_EL2, here | 5ull << VTTBR_VMID_SHIFT);
	data_barrier();
	expect("a VM with 40 bits runs", call_of(vm_masked, HCR_VM, 0), CALL_END);
	expect("... loads at 512 GiB", call_of(vm_loads, HCR_VM, FAR_IPA + (here & (GIB - 1))),
	       CALL_END);
	expect("... faults at 513 GiB", class_of(vm_loads, HCR_VM, FAR_IPA + GIB), EC_DATA_ABORT);
	expect("... at level 1", READ(ESR_EL2) & ABORT_STATUS, STATUS_TRANSLATION | 1);
	expect("... with the address", READ(HPFAR_EL2) << HPFAR_UP, FAR_IPA + GIB);
	expect("... stores where it may not", class_of(vm_stores, HCR_VM, READ_ONLY_IPA + 0x123008),
	       EC_DATA_ABORT);
	expect("... which permission forbids", READ(ESR_EL2) & ABORT_STATUS, STATUS_PERMISSION | 1);
	expect("... with the address", READ(HPFAR_EL2) << HPFAR_UP, READ_ONLY_IPA + 0x123000);
	expect("... faults at 1 TiB", class_of(vm_loads, HCR_VM, 2 * FAR_IPA), EC_DATA_ABORT);
	expect("... at level 0", READ(ESR_EL2) & ABORT_STATUS, STATUS_TRANSLATION);
#if !PARAVIRT
	WRITE(HCR_EL2, HCR_RW | HCR_VM);
	instruction_barrier();
	translations(here);
#endif
	WRITE(HCR_EL2, HCR_RW);
}

void first_cpu(void)
{
#if PARAVIRT == PARAVIRT_neve
	CALL_WRITE_(REG_VNCR_EL2, (uint64_t)deferred);
	WRITE_REGISTER(ttbr1_el1, deferred);
#endif
	WRITE(VBAR_EL2, (uint64_t)vectors);
	instruction_barrier();
	lists(); /* first: expects reset values */
	keys();
	own_signature();
	virtual_interrupts();
	own_exception();
	timer_line();
	debug();
	second_stage();
	say(all_well ? "rules: all well\n" : "rules: not all well\n");
	power_off();
}

void other_cpu(void)
{
	power_off();
}
