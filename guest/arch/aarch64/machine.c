/* The machine as a whole: initialization, identification, power-off. */
#include "guest/arch/aarch64/machine.h"
#include <arch/cpu.h>
#include <arch/timed.h>

#include "common/psci_functions.h"

#define LAB_HZ 1000000000 /* a tick is an instruction if one instruction takes a nanosecond */

static struct tree tree;

const struct tree *machine_tree(void)
{
	return &tree;
}

static int64_t call_below(enum psci_conduit conduit, uint64_t function, uint64_t a, uint64_t b,
			  uint64_t c)
{
	register uint64_t x0 __asm__("x0") = function;
	register uint64_t x1 __asm__("x1") = a;
	register uint64_t x2 __asm__("x2") = b;
	register uint64_t x3 __asm__("x3") = c;

	if (conduit == PSCI_HVC)
		CALL_BELOW("hvc #0");
	else
		CALL_BELOW("smc #0");
	return (int64_t)x0;
}

int64_t psci_cpu_on(uint64_t id, uint64_t entry, uint64_t context)
{
	if (tree.psci == PSCI_NONE)
		return -1;
	return call_below(tree.psci, PSCI_CPU_ON | PSCI_64, id, entry, context);
}

void arch_init(void)
{
	const char *wrong = boot_read(&tree);

	console_init(&tree);
	if (wrong) {
		console_printf("worldswitch cannot run here: %s\n", wrong);
		power_off(HYPERCALL_NONE);
	}
}

void arch_enable_interrupts(const struct params *params)
{
	const char *missing = gic_init(&tree);

	(void)params;
	if (missing)
		console_printf("one CPU only: %s\n", missing);
}

/* ---- Identification ------------------------------------------------------------------------ */

bool clock_can_count_insns(void)
{
	return READ_REGISTER(cntfrq_el0) == LAB_HZ;
}

void machine_facts(struct machine_facts *facts, bool measure)
{
	static const char *const levels[] = { "el1", "el2", "el2-vhe" };
	uint64_t hz = READ_REGISTER(cntfrq_el0);
	struct text cpu;

	(void)measure;
	*facts = (struct machine_facts){
		.arch = "aarch64",
		.interrupt_controller = gic_name(),
		.exception_level = levels[cpu_level],
		.clock = "cntvct",
		.clock_hz = hz ? hz : tree.timer_hz,
		.clock_hz_from = hz ? "cntfrq" : "device-tree",
	};
	text_start(&cpu, facts->cpu, sizeof(facts->cpu));
	text_printf(&cpu, "MIDR_EL1 %08lx", READ_REGISTER(midr_el1));
	for (unsigned i = 0; i < sizeof(tree.hypervisor); i++)
		facts->hypervisor[i] = tree.hypervisor[i];
}

struct root_operand cpu_root_operand(void)
{
	return (struct root_operand){ .root = cpu_page_table_root(),
				      .plain_el2 = cpu_level == LEVEL_EL2 };
}

struct register_operand cpu_vector_base(void)
{
	return (struct register_operand){ .value = READ_OWN(vbar),
					  .plain_el2 = cpu_level == LEVEL_EL2 };
}

struct register_operand cpu_control_register(void)
{
	return (struct register_operand){ .value = READ_OWN(sctlr),
					  .plain_el2 = cpu_level == LEVEL_EL2 };
}

uint64_t cpu_id_register(void)
{
	return READ_REGISTER(id_aa64pfr0_el1);
}

uint64_t cpu_cache_type(void)
{
	return READ_REGISTER(ctr_el0);
}

#define DAIF_A (1ull << 8)

bool cpu_flags_can_be_written(void)
{
	uint64_t before = READ_REGISTER(daif), after;

	WRITE_REGISTER(daif, before ^ DAIF_A);
	after = READ_REGISTER(daif);
	WRITE_REGISTER(daif, before);
	return (before ^ after) == DAIF_A;
}

/* SMCCC, "unknown function": a vendor-range number that no hypervisor implements; kvm-unit-tests calls it
 * too. */
#define SMCCC_UNKNOWN	    0x4b000000
#define SMCCC_NOT_SUPPORTED (~0ull)
/* Xen: xen_version, command 0, gives major << 16 | minor (xen/include/public/version.h). */
#define XEN_VERSION	    17

struct hypercall_operand hypercall_operand(enum hypercall_abi abi)
{
	if (abi == HYPERCALL_XEN)
		return (struct hypercall_operand){ .instruction = 2, .number = XEN_VERSION };
	return (struct hypercall_operand){
		.first = SMCCC_UNKNOWN,
		.instruction = cpu_level != LEVEL_EL1,
		.wanted = SMCCC_NOT_SUPPORTED,
	};
}

/* ---- Power-off ----------------------------------------------------------------------------- */

static void system_off(void *conduit)
{
	call_below(*(enum psci_conduit *)conduit, PSCI_SYSTEM_OFF, 0, 0, 0);
}

_Noreturn void power_off(enum hypercall_abi hypercall)
{
	enum psci_conduit conduits[] = { tree.psci, PSCI_HVC, PSCI_SMC };
	struct fault fault;

	(void)hypercall;
	console_drained(); /* the last output must be sent before power-off */
	/* Without a device tree try both conduits: the wrong one raises an exception, the right one does
	 * not return. */
	for (unsigned i = tree.psci == PSCI_NONE; i < (tree.psci == PSCI_NONE ? 3 : 1); i++)
		try_call(system_off, &conduits[i], &fault);
	stand_still();
}
