/* Starts the other CPUs. */
#include "guest/core/smp.h"
#include <arch/cpu.h>
#include "guest/arch/aarch64/machine.h"

#define MPIDR_AFFINITY 0xff00ffffffull

_Noreturn void cpu_rest_loop(void);
_Noreturn void cpu_started(void);
void other_entry(void);

extern char mmu_registers[];

_Noreturn void cpu_started(void)
{
	struct cpu *self = cpu_self();

	if (!gic_enable())
		stand_still();
	self->started = 1;
	cpu_rest_loop();
}

/* About a second; if the clock's frequency is unknown, assumes 1 GHz. */
uint64_t arch_long_ticks(void)
{
	uint64_t hz = READ_REGISTER(cntfrq_el0);

	return hz ? hz : 1000000000;
}

unsigned arch_list_cpus(uint64_t *ids, unsigned most, uint64_t *own)
{
	const struct tree *tree = machine_tree();
	unsigned listed = 0;

	*own = READ_REGISTER(mpidr_el1) & MPIDR_AFFINITY;
	if (!tree->gic_version)
		return 0;
	for (unsigned i = 0; i < tree->cpu_count && listed < most; i++)
		if (tree->cpu_ids[i] != *own)
			ids[listed++] = tree->cpu_ids[i];
	return listed;
}

/* They read this data with their MMU off. */
void arch_prepare_start(unsigned count)
{
	(void)count;
	clean_to_memory(mmu_registers, 32);
	clean_to_memory(&cpu_level, sizeof(cpu_level));
}

/* Calling it again for a CPU that is starting is harmless: PSCI refuses. */
void arch_start_cpu(struct cpu *cpu)
{
	psci_cpu_on(cpu->id, (uint64_t)other_entry, (uint64_t)cpu);
}
