/* Starts the other CPUs. */
#include "guest/core/smp.h"
#include <arch/cpu.h>
#include "guest/arch/riscv64/machine.h"

#define ASSUMED_HZ 10000000

_Noreturn void cpu_rest_loop(void);
_Noreturn void cpu_started(void);
void other_entry(void);

_Noreturn void cpu_started(void)
{
	struct cpu *self = cpu_self();

	interrupts_enable();
	self->started = 1;
	cpu_rest_loop();
}

/* About a second. */
uint64_t arch_long_ticks(void)
{
	uint64_t hz = machine_harts()->clock_hz;

	return hz ? hz : ASSUMED_HZ;
}

unsigned arch_list_cpus(uint64_t *ids, unsigned most, uint64_t *own)
{
	const struct harts *harts = machine_harts();
	unsigned listed = 0;

	*own = boot_hart;
	for (unsigned i = 0; i < harts->count && listed < most; i++)
		if (harts->ids[i] != *own)
			ids[listed++] = harts->ids[i];
	return listed;
}

void arch_prepare_start(unsigned count)
{
	(void)count;
}

/* Calling it again for a CPU that is starting is harmless: SBI refuses. */
void arch_start_cpu(struct cpu *cpu)
{
	sbi_call(SBI_HSM, SBI_HSM_START, cpu->id, (uint64_t)other_entry, (uint64_t)cpu);
}

void arch_send_ipi(const struct cpu *to)
{
	data_barrier();
	sbi_call(SBI_IPI, SBI_IPI_SEND, 1, to->id, 0);
}
