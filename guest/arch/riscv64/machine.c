/* The machine as a whole: initialization, identification, SBI calls, power-off. */
#include "common/fdt.h"
#include "guest/arch/riscv64/machine.h"
#include <arch/cpu.h>
#include <arch/timed_exits.h>

#define LAB_HZ 1000000000 /* a tick is an instruction if one instruction takes a nanosecond */

/* SBI implementations (SBI specification, chapter 4). */
#define IMPLEMENTATION_XVISOR 2
#define IMPLEMENTATION_KVM    3

static struct tree tree;
static struct harts harts;

const struct tree *machine_tree(void)
{
	return &tree;
}

const struct harts *machine_harts(void)
{
	return &harts;
}

struct sbi_result sbi_call(uint64_t extension, uint64_t function, uint64_t a, uint64_t b,
			   uint64_t c)
{
	register uint64_t a0 __asm__("a0") = a;
	register uint64_t a1 __asm__("a1") = b;
	register uint64_t a2 __asm__("a2") = c;
	register uint64_t a6 __asm__("a6") = function;
	register uint64_t a7 __asm__("a7") = extension;

	__asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a2), "r"(a6), "r"(a7) : "memory");
	return (struct sbi_result){ .error = (int64_t)a0, .value = a1 };
}

void arch_init(void)
{
	const char *wrong = boot_read(&tree);

	console_init(&tree);
	if (wrong) {
		console_printf("worldswitch cannot run here: %s\n", wrong);
		power_off(HYPERCALL_NONE);
	}
	harts_read(&harts, (const void *)boot_tree, FDT_MAX_BYTES);
}

void arch_enable_interrupts(const struct params *params)
{
	(void)params;
	interrupts_enable();
}

_Noreturn void arch_answer_events(const struct params *params)
{
	console_printf(
		"answer=1 is for a domain under Xen, which this architecture's guest does not know\n");
	power_off(params->hypercall);
}

/* ---- Identification ------------------------------------------------------------------------ */

bool clock_can_count_insns(void)
{
	return harts.clock_hz == LAB_HZ;
}

static uint64_t base(uint64_t function)
{
	struct sbi_result result = sbi_call(SBI_BASE, function, 0, 0, 0);

	return result.error ? 0 : result.value;
}

void machine_facts(struct machine_facts *facts, bool measure)
{
	static const char *const hypervisors[] = {
		[IMPLEMENTATION_XVISOR] = "Xvisor", [IMPLEMENTATION_KVM] = "KVM"
	};
	uint64_t id = base(SBI_BASE_IMPL_ID);
	struct text cpu;

	(void)measure;
	*facts = (struct machine_facts){
		.arch = "riscv64",
		.interrupt_controller = controller_name(),
		.clock = "time",
		.clock_hz = harts.clock_hz,
		.clock_hz_from = "device-tree",
	};
	text_start(&cpu, facts->cpu, sizeof(facts->cpu));
	text_printf(&cpu, "mvendorid %lx marchid %lx mimpid %lx", base(SBI_BASE_VENDOR),
		    base(SBI_BASE_ARCH), base(SBI_BASE_IMPLEMENTATION));
	if (id < sizeof(hypervisors) / sizeof(hypervisors[0]) && hypervisors[id])
		for (unsigned i = 0; hypervisors[id][i]; i++)
			facts->hypervisor[i] = hypervisors[id][i];
}

struct register_operand cpu_vector_base(void)
{
	return (struct register_operand){ .value = READ_CSR(stvec) };
}

bool cpu_flags_can_be_written(void)
{
	uint64_t before = READ_CSR(sstatus), after;

	WRITE_CSR(sstatus, before ^ SSTATUS_SUM);
	after = READ_CSR(sstatus);
	WRITE_CSR(sstatus, before);
	return (before ^ after) == SSTATUS_SUM;
}

/* The version of SBI: the cheapest call. Whatever the firmware or the hypervisor answers now is right. */
struct hypercall_operand hypercall_operand(enum hypercall_abi abi)
{
	(void)abi;
	return (struct hypercall_operand){
		.extension = SBI_BASE,
		.function = SBI_BASE_SPEC_VERSION,
		.wanted = base(SBI_BASE_SPEC_VERSION),
	};
}

struct hypercall_operand user_call_operand(void)
{
	return (struct hypercall_operand){
		.extension = SBI_VMM,
		.function = SBI_VMM_ADD_1,
		.first = 1,
		.wanted = 2,
	};
}

/* ---- Power-off ----------------------------------------------------------------------------- */

_Noreturn void power_off(enum hypercall_abi hypercall)
{
	(void)hypercall;
	console_drained(); /* the last output must be sent before power-off */
	sbi_call(SBI_RESET, SBI_RESET_SYSTEM, 0, 0, 0);
	sbi_call(SBI_LEGACY_SHUTDOWN, 0, 0, 0, 0);
	stand_still();
}
