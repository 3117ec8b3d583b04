/* Memory and serial ports of the RISC-V machine (see vmm_arch.h). boot.c creates the interrupt controller,
 * after the vCPUs. */
#include <arch/board.h>

#include "vmm/vmm_arch.h"

/* Never on RISC-V: KVM requires the hypervisor extension. */
bool arch_kvm_is_software(void)
{
	return false;
}

void arch_memory_layout(struct memory *memory, uint64_t bytes)
{
	*memory = (struct memory){ .bytes = bytes, .count = 1 };
	memory->regions[0] = (struct region){ .guest = RAM, .bytes = bytes };
}

uint64_t arch_pmem_address(const struct memory *memory)
{
	return (RAM + memory->bytes + PMEM_BOUNDARY - 1) & ~(PMEM_BOUNDARY - 1);
}

bool arch_machine_init(struct vm *vm)
{
	(void)vm;
	return true;
}

static void uart0_send(void *context, uint8_t byte)
{
	vm_console(context, byte);
}

bool arch_add_devices(struct vm *vm)
{
	const struct device rows[] = {
		{ "UART0", SPACE_MMIO, UART0, SERIAL_REGISTERS, serial_access, &vm->serial[0] },
		{ "UART1", SPACE_MMIO, UART1, SERIAL_REGISTERS, serial_access, &vm->serial[1] },
	};

	vm->serial[0] = (struct serial){ .send = uart0_send, .context = vm };
	return devices_add(&vm->devices, &rows[0]) && devices_add(&vm->devices, &rows[1]);
}
