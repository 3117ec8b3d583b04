/* Starts the other CPUs. */
#include "guest/core/smp.h"
#include "guest/platform/acpi.h"
#include <arch/apic.h>
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include <arch/lfence.h>
#include "guest/arch/x86_64/machine.h"
#include "common/relax.h"
#include <arch/tables.h>
#include <arch/timed.h>

/* Old machines need 10 ms between INIT and the start-up IPI (SDM vol. 3A, 9.4.4.1). The clock's frequency
 * is not known yet: assuming 3 GHz makes the wait long enough on most. */
#define INIT_WAIT_TICKS 30000000ull
/* On a busy emulator a CPU may not run for a long time; a second is ample on hardware. */
#define LONG_TICKS	3000000000ull

extern char trampoline_start[], trampoline_root[], trampoline_end[];
_Noreturn void cpu_rest_loop(void);
_Noreturn void cpu_started(void);

/* Of the CPU that is being started; trampoline.S reads the first. */
uint64_t starting_stack;
static struct cpu *starting;

void cpu_own(struct cpu *cpu)
{
	write_msr(MSR_GS_BASE, (uint64_t)cpu);
}

struct cpu *cpu_self(void)
{
	return (struct cpu *)read_msr(MSR_GS_BASE);
}

_Noreturn void cpu_started(void)
{
	struct cpu *self = starting;

	tables_load();
	cpu_own(self);
	apic_enable();
	lfence_enable();
	self->started = 1;
	cpu_rest_loop();
}

uint64_t arch_long_ticks(void)
{
	return LONG_TICKS;
}

unsigned arch_list_cpus(uint64_t *ids, unsigned most, uint64_t *own)
{
	const struct acpi *acpi = machine_acpi();
	unsigned listed = 0;

	*own = apic_id();
	for (unsigned i = 0; i < acpi->cpu_count && listed < most; i++)
		if (acpi->apic_ids[i] != *own && (apic_is_x2apic() || acpi->apic_ids[i] <= 0xfe))
			ids[listed++] = acpi->apic_ids[i];
	return listed;
}

/* Copies the trampoline to its page below 1 MiB, which nothing else uses. */
static void place_trampoline(void)
{
	volatile char *to = (volatile char *)TRAMPOLINE;
	uint64_t root_at = TRAMPOLINE + (uint64_t)(trampoline_root - trampoline_start);

	for (char *from = trampoline_start; from < trampoline_end; from++)
		*to++ = *from;
	*(volatile uint32_t *)root_at = (uint32_t)cpu_page_table_root();
}

void arch_prepare_start(unsigned count)
{
	uint64_t start;

	place_trampoline();
	for (unsigned i = 1; i <= count; i++)
		apic_send_init((uint32_t)cpus[i].id);
	for (start = rdtimer(); rdtimer() - start < INIT_WAIT_TICKS;)
		relax();
}

void arch_start_cpu(struct cpu *cpu)
{
	starting_stack = cpu->stack_end;
	starting = cpu;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	apic_send_startup((uint32_t)cpu->id, TRAMPOLINE >> 12);
}

void arch_send_ipi(const struct cpu *to)
{
	apic_send_fixed((uint32_t)to->id, VECTOR_IPI);
}

bool ipi_operand_fill(struct ipi_operand *operand, unsigned cpu, bool yield)
{
	if (!cpu || cpu >= cpus_online())
		return false;
	*operand = (struct ipi_operand){
		.x2apic = apic_is_x2apic(),
		.apic = (volatile uint32_t *)apic_registers,
		.received = &ipi_received,
		.ready = &cpus[cpu].ready,
		.yield = yield,
		.settle_passes = 64,
	};
	apic_fixed_command((uint32_t)cpus[cpu].id, VECTOR_IPI, &operand->icr_low,
			   &operand->icr_high);
	return true;
}
