/* Starts the other CPUs, makes them wait for work, and sends them interrupts (POSIH, SMP). */
#include "guest/core/smp.h"
#include "guest/core/guest_arch.h"
#include "latency.h"
#include "common/relax.h"

#define STACK_BYTES (4 * KIB) /* a waiting CPU runs little but interrupt handlers */

struct cpu cpus[MAX_CPUS];
static unsigned online = 1;

/* The sender polls the first while the handler increments the others. */
uint64_t ipi_received APART, ipi_found_halted APART, ipi_found_running APART;
struct latency_handled latency_handled;

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
	uint8_t *stack = heap_alloc_page(STACK_BYTES);

	if (!stack)
		return false;
	cpu->stack_end = (uint64_t)stack + STACK_BYTES;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	arch_start_cpu(cpu);
	if (wait_for(&cpu->started, arch_long_ticks() / 1000))
		return true;
	arch_start_cpu(cpu);
	return wait_for(&cpu->started, arch_long_ticks());
}

unsigned start_others(unsigned wanted)
{
	uint64_t ids[MAX_CPUS];
	unsigned most = wanted < MAX_CPUS ? wanted : MAX_CPUS;
	unsigned others = arch_list_cpus(ids, most - 1, &cpus[0].id);

	if (!others)
		return online;
	for (unsigned i = 0; i < others; i++) {
		cpus[i + 1].number = i + 1;
		cpus[i + 1].id = ids[i];
	}
	arch_prepare_start(others);
	/* In order, and stop at the first that does not start: numbers have no gaps. */
	while (online <= others && start_one(&cpus[online]))
		online++;
	if (online <= others)
		console_printf("CPU %u (hardware id %lx) did not start\n", online, cpus[online].id);
	return online;
}

unsigned cpus_online(void)
{
	return online;
}

void on_cpu(unsigned cpu)
{
	if (cpu && cpu < online)
		arch_send_ipi(&cpus[cpu]);
}

bool cpu_set_rest(unsigned cpu, enum cpu_rest rest)
{
	struct cpu *target = &cpus[cpu];
	uint64_t start;

	if (!cpu || cpu >= online || !wait_for(&target->ready, arch_long_ticks()))
		return false;
	target->ready = 0;
	target->spin = rest == CPU_RUNNING;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	on_cpu(cpu); /* wakes a halted CPU; a running one sees `spin` or this, whichever is first */
	if (!wait_for(&target->ready, arch_long_ticks()))
		return false;
	/* `ready` may have been set once more before the interrupt. */
	for (start = rdtimer(); rdtimer() - start < arch_long_ticks() / 10000;)
		relax();
	return wait_for(&target->ready, arch_long_ticks());
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

void spin_lock(struct spinlock *lock)
{
	while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
		relax();
}

void spin_unlock(struct spinlock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}
