/* The hypervisor's main function: reads what the machine has and what to run, creates the VMs, runs them,
 * powers off. */
#include "core/main.h"

#include "common/tree.h"
#include "core/arch.h"
#include "core/config.h"
#include "core/console.h"
#include "core/memory.h"
#include "vm/vm.h"

struct memory machine_memory;
struct cpu machine_cpus[MAX_CPUS];
unsigned machine_cpu_count;

static struct config config;
static uint8_t stacks[MAX_CPUS][MAIN_STACK_BYTES] __attribute__((aligned(16)));

static _Noreturn void give_up(const char *what, const char *wrong)
{
	console_printf("neve %s: %s\n", what, wrong);
	arch_power_off();
}

static bool in_ram(const struct tree *tree, const struct memory_range *range)
{
	bool found = range->start == range->end;

	for (unsigned i = 0; i < tree->ram_count; i++)
		found |= tree->ram[i].start <= range->start && range->end <= tree->ram[i].end;
	return found;
}

/* A loader may put a module where no memory is, or over something. */
static void check_module(const struct tree *tree, const struct memory_range *tree_range,
			 const struct memory_range *module)
{
	const struct memory_range image = { (uint64_t)image_start, (uint64_t)image_end };
	const char *wrong = NULL;
	char why_bytes[128];
	struct text why;

	if (!in_ram(tree, module))
		wrong = "is not in the machine's memory";
	else if (ranges_overlap(module, &image))
		wrong = "overlaps neve's image";
	else if (ranges_overlap(module, tree_range))
		wrong = "overlaps the device tree";
	if (!wrong)
		return;
	text_start(&why, why_bytes, sizeof(why_bytes));
	text_printf(&why, "the module at 0x%lx %s: load it at another address", module->start,
		    wrong);
	give_up("cannot run", why_bytes);
}

static void check_modules(const struct tree *tree, uint64_t tree_at)
{
	struct memory_range tree_range = { tree_at, tree_at };
	struct fdt fdt;

	/* No error: it was read before. */
	(void)fdt_open(&fdt, (const void *)tree_at, FDT_MAX_BYTES);
	tree_range.end += fdt.size;
	for (unsigned i = 0; i < config.vm_count; i++) {
		const struct vm_config *vm = &config.vms[i];

		check_module(tree, &tree_range, &vm->kernel);
		for (unsigned j = 0; j < MAX_RAMDISKS && vm->ramdisks[j].start; j++)
			check_module(tree, &tree_range, &vm->ramdisks[j]);
	}
}

/* All RAM is free except the image, the device tree, the modules, and the ranges that the tree reserves. */
static void find_memory(const struct tree *tree, uint64_t tree_at)
{
	bool good = true;

	machine_memory.count = tree->ram_count;
	for (unsigned i = 0; i < tree->ram_count; i++)
		machine_memory.free[i] = tree->ram[i];
	good &= memory_take_away(&machine_memory, (uint64_t)image_start, (uint64_t)image_end);
	good &= memory_take_away(&machine_memory, tree_at, tree_at + FDT_MAX_BYTES);
	for (unsigned i = 0; i < tree->reserved_count; i++)
		good &= memory_take_away(&machine_memory, tree->reserved[i].start,
					 tree->reserved[i].end);
	for (unsigned i = 0; i < config.vm_count; i++) {
		const struct vm_config *vm = &config.vms[i];

		if (!in_ram(tree, &vm->pmem))
			give_up("cannot run", "the range of pmem= is not memory of the machine");
		good &= memory_take_away(&machine_memory, vm->pmem.start, vm->pmem.end);
		good &= memory_take_away(&machine_memory, vm->kernel.start, vm->kernel.end);
		for (unsigned j = 0; j < MAX_RAMDISKS && vm->ramdisks[j].start; j++)
			good &= memory_take_away(&machine_memory, vm->ramdisks[j].start,
						 vm->ramdisks[j].end);
	}
	if (!good)
		give_up("cannot run here", "the machine's memory is in too many pieces");
}

/* The CPU that runs this is number 0; the others follow in the device tree's order. */
static void list_cpus(const struct tree *tree, uint64_t own)
{
	machine_cpus[0].id = own;
	machine_cpu_count = 1;
	for (unsigned i = 0; i < tree->cpu_count && machine_cpu_count < MAX_CPUS; i++)
		if (tree->cpu_ids[i] != own)
			machine_cpus[machine_cpu_count++].id = tree->cpu_ids[i];
	for (unsigned i = 0; i < machine_cpu_count; i++) {
		machine_cpus[i].number = i;
		machine_cpus[i].stack_end = stacks[i] + MAIN_STACK_BYTES;
	}
}

static void make_vms(void)
{
	unsigned first_cpu = 0;

	for (unsigned i = 0; i < config.vm_count; i++) {
		const char *wrong = vm_create(i, &config.vms[i], first_cpu);
		char what[32];
		struct text text;

		vms[i].console.by_lines = config.vm_count > 1 ||
					  config.vms[i].nest != MECHANISM_NONE;
		wrong = wrong ? wrong : vm_load(&vms[i]);
		text_start(&text, what, sizeof(what));
		text_printf(&text, "cannot run VM %u", i);
		if (wrong)
			give_up(what, wrong);
		first_cpu += vms[i].vcpu_count;
	}
	vm_count = config.vm_count;
}

/* Only CPUs that have a vCPU are started. */
static void start_cpus(void)
{
	for (unsigned i = 1; i < machine_cpu_count && machine_cpus[i].vcpu; i++)
		if (!arch_start_cpu(&machine_cpus[i]))
			give_up("cannot run here",
				"a CPU that the device tree names does not start");
}

static bool all_ended(void)
{
	for (unsigned i = 0; i < vm_count; i++)
		if (__atomic_load_n(&vms[i].state, __ATOMIC_ACQUIRE) != VM_ENDED)
			return false;
	return true;
}

_Noreturn void neve_main(const struct tree *tree, uint64_t tree_at, const char *wrong,
			 uint64_t own_id)
{
	static char why_bytes[256];
	struct text why;
	uint64_t bell;

	console_use(tree->uart_count ? &tree->uarts[tree->console] : NULL);
	text_start(&why, why_bytes, sizeof(why_bytes));
	if (wrong) {
		text_printf(&why, "the device tree at 0x%lx cannot be used: %s. ", tree_at, wrong);
		text_printf(&why, "If a module overlaps it, load the module at another address");
		give_up("cannot run here", tree_at ? why_bytes : wrong);
	}
	if (!config_read(&config, tree->bootargs, (const void *)tree_at, FDT_MAX_BYTES, &why))
		give_up("cannot run", why_bytes);
	record_use_level((unsigned)config.level);
	check_modules(tree, tree_at);
	find_memory(tree, tree_at);
	list_cpus(tree, own_id);
	wrong = arch_interrupts_init(tree);
	wrong = wrong ? wrong : arch_cpu_init(&machine_cpus[0]);
	if (wrong)
		give_up("cannot run here", wrong);
	if (outer_bell(tree->bootargs, &bell)) {
		bell_use_outer(bell);
		console_use_doorbell(bell);
	}
	make_vms();
	start_cpus();
	for (unsigned i = 0; i < vm_count; i++)
		vm_hello(&vms[i]);
	for (unsigned i = 0; i < vm_count; i++) {
		vms[i].vcpus[0].powered = true;
		if (i)
			arch_kick(vms[i].vcpus[0].cpu);
	}
	vcpu_run(machine_cpus[0].vcpu);
	while (!all_ended()) {
		arch_wait();
		arch_take_interrupts(machine_cpus[0].vcpu);
	}
	arch_power_off();
}

_Noreturn void cpu_main(struct cpu *cpu)
{
	if (!arch_cpu_init(cpu)) {
		__atomic_store_n(&cpu->started, true, __ATOMIC_RELEASE);
		vcpu_run(cpu->vcpu);
		arch_kick(&machine_cpus[0]);
	}
	for (;;) {
		arch_wait();
		arch_take_interrupts(cpu->vcpu);
	}
}
