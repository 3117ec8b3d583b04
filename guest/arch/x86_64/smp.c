/* Starts the other CPUs, lets them rest, and sends them interrupts (POSIH, SMP). */
#include "smp.h"
#include "acpi.h"
#include "apic.h"
#include "arch.h"
#include "cpu.h"
#include "machine.h"
#include "timed.h"

#define STACK_PAGES	1 /* a resting CPU runs interrupt handlers and little else */
/* INIT needs 10 ms before the start-up IPI on old machines (SDM vol. 3A, 9.4.4.1). The clock's
 * frequency is not known yet: counted at 3 GHz, which errs to the long side on most. */
#define INIT_WAIT_TICKS 30000000ull
/* A CPU of a busy emulator may be off its core for long; a second is for ever on hardware. */
#define START_TICKS	3000000000ull

extern char trampoline_start[], trampoline_root[], trampoline_end[];
_Noreturn void cpu_rest_loop(void);
_Noreturn void cpu_started(void);

static struct cpu cpus[MAX_CPUS];
static unsigned online = 1;

/* For the one CPU that starts at the moment; trampoline.S reads the first. */
uint64_t starting_stack;
static struct cpu *starting;

/* Counted by exceptions.S. */
uint64_t ipi_received, ipi_found_halted, ipi_found_running;

void cpu_own(struct cpu *cpu)
{
	write_msr(MSR_GS_BASE, (uint64_t)cpu);
}

struct cpu *cpu_self(void)
{
	return (struct cpu *)read_msr(MSR_GS_BASE);
}

void smp_init(void)
{
	cpu_own(&cpus[0]);
}

_Noreturn void cpu_started(void)
{
	struct cpu *self = starting;

	tables_load();
	cpu_own(self);
	apic_enable();
	self->started = 1;
	cpu_rest_loop();
}

static void wait_ticks(uint64_t ticks)
{
	uint64_t start = rdtimer();

	while (rdtimer() - start < ticks)
		relax();
}

static bool wait_for(const volatile uint64_t *flag, uint64_t ticks)
{
	uint64_t start = rdtimer();

	while (!*flag) {
		if (rdtimer() - start > ticks)
			return false;
		relax();
	}
	return true;
}

static bool start_one(struct cpu *cpu)
{
	uint8_t *stack = heap_alloc_page(STACK_PAGES * 4 * KIB);

	if (!stack)
		return false;
	starting_stack = (uint64_t)stack + STACK_PAGES * 4 * KIB;
	starting = cpu;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	apic_send_startup(cpu->apic_id, TRAMPOLINE >> 12);
	if (wait_for(&cpu->started, START_TICKS / 1000))
		return true;
	apic_send_startup(cpu->apic_id, TRAMPOLINE >> 12);
	return wait_for(&cpu->started, START_TICKS);
}

/* Copies the trampoline; its page lies below 1 MiB, which nothing else uses. */
static void place_trampoline(void)
{
	volatile char *to = (volatile char *)TRAMPOLINE;
	uint64_t root_at = TRAMPOLINE + (uint64_t)(trampoline_root - trampoline_start);

	for (char *from = trampoline_start; from < trampoline_end; from++)
		*to++ = *from;
	*(volatile uint32_t *)root_at = (uint32_t)cpu_page_table_root();
}

unsigned start_others(unsigned wanted)
{
	const struct acpi *acpi = machine_acpi();
	uint32_t own = apic_id();
	unsigned listed = 1;

	cpus[0].apic_id = own;
	for (unsigned i = 0; i < acpi->cpu_count && listed < wanted && listed < MAX_CPUS; i++) {
		if (acpi->apic_ids[i] == own || (!apic_is_x2apic() && acpi->apic_ids[i] > 0xfe))
			continue;
		cpus[listed].number = listed;
		cpus[listed++].apic_id = acpi->apic_ids[i];
	}
	if (listed == 1)
		return online;
	place_trampoline();
	for (unsigned i = 1; i < listed; i++)
		apic_send_init(cpus[i].apic_id);
	wait_ticks(INIT_WAIT_TICKS);
	/* In order, and none behind one that does not answer: numbers stay without gaps. */
	while (online < listed && start_one(&cpus[online]))
		online++;
	if (online < listed)
		console_printf("CPU %u (APIC id %u) did not start\n", online, cpus[online].apic_id);
	return online;
}

unsigned cpus_online(void)
{
	return online;
}

void on_cpu(unsigned cpu)
{
	if (cpu && cpu < online)
		apic_send_fixed(cpus[cpu].apic_id, VECTOR_IPI);
}

bool cpu_set_rest(unsigned cpu, enum cpu_rest rest)
{
	struct cpu *target = &cpus[cpu];

	if (!cpu || cpu >= online || !wait_for(&target->ready, START_TICKS))
		return false;
	target->ready = 0;
	target->spin = rest == CPU_RUNNING;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	on_cpu(cpu); /* out of its halt; a running one sees `spin` or this, whichever comes first */
	if (!wait_for(&target->ready, START_TICKS))
		return false;
	wait_ticks(START_TICKS / 10000); /* it may have been ready once more before the interrupt */
	return wait_for(&target->ready, START_TICKS);
}

void ipi_reset_counts(void)
{
	ipi_received = ipi_found_halted = ipi_found_running = 0;
}

struct ipi_counts ipi_counts(void)
{
	return (struct ipi_counts){
		.received = __atomic_load_n(&ipi_received, __ATOMIC_SEQ_CST),
		.found_halted = __atomic_load_n(&ipi_found_halted, __ATOMIC_SEQ_CST),
		.found_running = __atomic_load_n(&ipi_found_running, __ATOMIC_SEQ_CST),
	};
}

bool ipi_operand_fill(struct ipi_operand *operand, unsigned cpu, bool yield)
{
	if (!cpu || cpu >= online)
		return false;
	*operand = (struct ipi_operand){
		.x2apic = apic_is_x2apic(),
		.apic = (volatile uint32_t *)apic_registers,
		.received = &ipi_received,
		.ready = &cpus[cpu].ready,
		.yield = yield,
		.settle_passes = 64,
	};
	apic_fixed_command(cpus[cpu].apic_id, VECTOR_IPI, &operand->icr_low, &operand->icr_high);
	return true;
}

void spin_lock(struct spinlock *lock)
{
	while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
		relax();
}

void spin_unlock(struct spinlock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}
