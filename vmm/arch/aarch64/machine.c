/* A machine as kernels expect one that read a device tree: memory, serial
 * ports; and what it needs of KVM (see arch.h). The interrupt controller comes
 * with boot.c, once there are vCPUs. */
#include "machine.h"

#include <stdlib.h>
#include <sys/ioctl.h>

#include "arch.h"

#define UARTS 2

/* There is none on ARM: KVM wants EL2, be it one that another hypervisor gives.
 */
bool arch_kvm_is_software(void)
{
	return false;
}

void arch_memory_layout(struct memory *memory, uint64_t bytes)
{
	*memory = (struct memory){ .bytes = bytes, .count = 1 };
	memory->regions[0] = (struct region){ .guest = RAM, .bytes = bytes };
}

bool arch_machine_init(struct vm *vm)
{
	(void)vm;
	return true;
}

static void uart0_send(void *context, uint8_t byte)
{
	struct vm *vm = context;
	enum console_state state = console_put(&vm->console, byte);

	if (state == CONSOLE_FULL)
		vm_end(vm, END_FLOOD, "the guest wrote more than the %lu bytes of console-max",
		       vm->console.most);
	else if (state == CONSOLE_FAILED)
		vm_end(vm, END_ERROR, "the console can't be written");
}

static void uart0_interrupt(void *context, bool level)
{
	struct kvm_irq_level line = { .level = level };

	line.irq = (uint32_t)KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT |
		   (32 + UART0_INTERRUPT);
	if (ioctl(((struct vm *)context)->fd, KVM_IRQ_LINE, &line) < 0)
		vm_end(context, END_KVM, "the first serial port can't interrupt: %m");
}

bool arch_add_devices(struct vm *vm)
{
	struct pl011 *uarts = calloc(UARTS, sizeof(*uarts)); /* as long as the process */
	const struct device rows[] = {
		{ "UART0", SPACE_MMIO, UART0, UART_BYTES, pl011_access, &uarts[0] },
		{ "UART1", SPACE_MMIO, UART1, UART_BYTES, pl011_access, &uarts[1] },
	};

	if (!uarts)
		return fail("no memory for serial ports");
	vm->serial[0] =
		(struct serial){ .send = uart0_send, .interrupt = uart0_interrupt, .context = vm };
	for (unsigned i = 0; i < UARTS; i++) {
		uarts[i].serial = &vm->serial[i];
		if (!devices_add(&vm->devices, &rows[i]))
			return false;
	}
	return true;
}
