/*
 * The lab preloads this library into the QEMU that resumes a RISC-V machine. QEMU 10 saves mtimecmp, the deadline of a
 * CPU's timer in the CLINT, but not that timer (hw/intc/riscv_aclint.c). Without Sstc the firmware sets it for Linux,
 * whose next tick would never come. Before the CPUs run, the library writes each mtimecmp to itself. QEMU then sets the
 * timer, or raises its interrupt if the deadline has passed. It uses functions that Debian's QEMU exports. In a program
 * without these functions it does nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma weak qemu_add_vm_change_state_handler
#pragma weak qemu_get_cpu
#pragma weak cpu_physical_memory_rw

/* The first CPU's mtimecmp on the machine virt without aclint=on: VIRT_CLINT and RISCV_ACLINT_SWI_SIZE in QEMU. */
#define MTIMECMP 0x2004000u

typedef void state_changed(void *unused, bool is_running, int state);
void *qemu_add_vm_change_state_handler(state_changed *call, void *unused);
void *qemu_get_cpu(int index);
void cpu_physical_memory_rw(uint64_t address, void *buffer, uint64_t bytes, bool is_write);

/* With QEMU's lock, before the CPUs run. */
static void set_timers(void *unused, bool is_running, int state)
{
	(void)unused;
	(void)state;
	if (!is_running)
		return;
	for (int index = 0; qemu_get_cpu(index); index++) {
		uint64_t address = MTIMECMP + (uint64_t)index * sizeof(uint64_t), deadline;

		cpu_physical_memory_rw(address, &deadline, sizeof(deadline), false);
		cpu_physical_memory_rw(address, &deadline, sizeof(deadline), true);
	}
}

__attribute__((constructor)) static void start(void)
{
	if (qemu_add_vm_change_state_handler && qemu_get_cpu && cpu_physical_memory_rw)
		(void)qemu_add_vm_change_state_handler(set_timers, NULL);
}
