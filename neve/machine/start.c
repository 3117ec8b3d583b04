/* Boot of the first CPU, start of the others, and power-off on an Arm machine. */
#include "machine/machine.h"

#include "common/device_io.h"
#include "common/pl011_registers.h"
#include "common/psci_functions.h"
#include "common/relax.h"
#include "core/arch.h"
#include "core/console.h"
#include "core/cpus.h"
#include "core/main.h"
#include "cpu/accessors.h"
#include "cpu/cpu.h"
#include "tables/table.h"

#define TREE_ALIGNMENT 8
#define MAX_POLLS      100000000

const char arch_name[] = "aarch64";

void first_steps(uint64_t at);
_Noreturn void second_steps(void);
_Noreturn void wrong_level(uint64_t at);
_Noreturn void own_fault(void);
void other_entry(void);

static struct tree tree;
static const char *tree_wrong;
static uint64_t tree_at;

/* The machine `virt` of QEMU, and VMs of neve, have a port here. */
#define VIRT_UART 0x09000000ull

static bool is_pl011(uint64_t base)
{
	/* Of the eight registers; 2 and 3 have the revision. */
	static const uint8_t numbers[] = { 0, 1, 4, 5, 6, 7 };
	static const uint8_t identity[] = { 0x11, 0x10, 0x0d, 0xf0, 0x05, 0xb1 };

	for (unsigned i = 0; i < sizeof(numbers); i++)
		if (mmio_read32(base + PL011_IDENTITY + numbers[i] * 4) != identity[i])
			return false;
	return true;
}

/* Reads the device tree. Something may have been loaded over it: then the error can be reported only where we know a port,
 * and how this machine is powered off. Any other machine stops silently, also by the fault of a read of no device. */
static void read_tree(uint64_t at, enum psci_conduit psci_of_virt)
{
	tree_at = at;
	if (!at || at % TREE_ALIGNMENT)
		tree_wrong = "the boot protocol gave no device tree";
	else
		tree_wrong = tree_read(&tree, (const void *)at, FDT_MAX_BYTES);
	if (tree_wrong && !tree.uart_count && is_pl011(VIRT_UART)) {
		tree.uarts[0] = (struct uart){ .kind = UART_PL011, .base = VIRT_UART };
		tree.uart_count = 1;
		tree.console = 0;
		tree.psci = psci_of_virt;
	}
	/* Ignore RAM that our tables cannot map. */
	for (unsigned i = 0; i < tree.ram_count; i++)
		if (tree.ram[i].end >> STAGE1_INPUT_BITS)
			tree.ram[i].end = 1ull << STAGE1_INPUT_BITS;
}

/* Runs with the MMU off. */
void first_steps(uint64_t at)
{
	read_tree(at, PSCI_SMC);
	map_ourselves(&tree);
}

_Noreturn void second_steps(void)
{
	neve_main(&tree, tree_at, tree_wrong, READ_REGISTER(mpidr_el1) & MPIDR_AFFINITY);
}

/* Reports that we were not started at EL2. Runs with the MMU off. */
_Noreturn void wrong_level(uint64_t at)
{
	read_tree(at, PSCI_HVC);
	console_use(tree.uart_count ? &tree.uarts[tree.console] : NULL);
	console_printf("neve cannot run here: it was not started at EL2 (QEMU: -machine "
		       "virt,virtualization=on)\n");
	arch_power_off();
}

/* Reports a fault of the hypervisor itself. */
_Noreturn void own_fault(void)
{
	console_seize();
	console_printf("neve failed: ESR_EL2 %lx FAR_EL2 %lx ELR_EL2 %lx, image at %lx\n",
		       READ(ESR_EL2), READ(FAR_EL2), READ(ELR_EL2), (uint64_t)image_start);
	arch_power_off();
}

/* ---- Firmware ------------------------------------------------------------------------------- */

#define CALL(instruction)                                                                         \
	__asm__ volatile(instruction                                                              \
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)                                 \
			 :                                                                        \
			 : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", \
			   "x15", "x16", "x17", "memory")

/* By SMC: an HVC at EL2 would call ourselves. */
static uint64_t firmware_call(uint64_t function, uint64_t a, uint64_t b, uint64_t c)
{
	register uint64_t x0 __asm__("x0") = function;
	register uint64_t x1 __asm__("x1") = a;
	register uint64_t x2 __asm__("x2") = b;
	register uint64_t x3 __asm__("x3") = c;

	if (tree.psci == PSCI_HVC)
		CALL("hvc #0"); /* only in wrong_level(), at EL1 */
	else
		CALL("smc #0");
	return x0;
}

_Noreturn void arch_power_off(void)
{
	console_drain();
	if (tree.psci != PSCI_NONE)
		firmware_call(PSCI_SYSTEM_OFF, 0, 0, 0);
	for (;;)
		__asm__ volatile("wfi");
}

bool arch_start_cpu(struct cpu *cpu)
{
	clean_and_drop(cpu, sizeof(*cpu)); /* the CPU reads its stack's address with the MMU off */
	if (tree.psci != PSCI_SMC ||
	    firmware_call(PSCI_CPU_ON | PSCI_64, cpu->id, (uint64_t)other_entry, (uint64_t)cpu))
		return false;
	for (unsigned i = 0; i < MAX_POLLS; i++) {
		if (__atomic_load_n(&cpu->started, __ATOMIC_ACQUIRE))
			return true;
		relax();
	}
	return false;
}

void arch_wait(void)
{
	__asm__ volatile("dsb sy\n\twfi" : : : "memory");
}

uint64_t arch_ticks(void)
{
	instruction_barrier();
	return READ_REGISTER(cntpct_el0);
}
