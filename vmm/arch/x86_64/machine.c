/* A minimal PC: memory layout, interrupt controllers, devices; and KVM details (see vmm_arch.h). */
#include <arch/board.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vmm/vmm_arch.h"

/* A KVM without VMX and SVM emulates its guests. Linux clears both flags if the firmware has disabled
 * virtualization. If the CPU flags cannot be read, assume a software KVM: then nothing is executed that
 * would break one. */
bool arch_kvm_is_software(void)
{
	char line[8192];
	bool software = true;
	FILE *file = fopen("/proc/cpuinfo", "re");

	while (file && software && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = ' ';
		if (strncmp(line, "flags", 5) == 0)
			software = !strstr(line, " vmx ") && !strstr(line, " svm ");
	}
	if (file)
		fclose(file);
	return software;
}

void arch_memory_layout(struct memory *memory, uint64_t bytes)
{
	uint64_t low = bytes < HOLE_START ? bytes : HOLE_START;

	*memory = (struct memory){ .bytes = bytes, .count = bytes > low ? 2 : 1 };
	memory->regions[0] = (struct region){ .guest = 0, .bytes = low };
	memory->regions[1] = (struct region){ .guest = HOLE_END, .bytes = bytes - low };
}

uint64_t arch_pmem_address(const struct memory *memory)
{
	const struct region *last = &memory->regions[memory->count - 1];
	uint64_t end = last->guest + last->bytes;

	return end < HOLE_END ? HOLE_END : (end + PMEM_BOUNDARY - 1) & ~(PMEM_BOUNDARY - 1);
}

bool arch_machine_init(struct vm *vm)
{
	struct kvm_pit_config pit = { .flags = KVM_PIT_SPEAKER_DUMMY };

	return (ioctl(vm->fd, KVM_SET_TSS_ADDR, TSS_PAGES) == 0 &&
		ioctl(vm->fd, KVM_CREATE_IRQCHIP, 0) == 0 &&
		ioctl(vm->fd, KVM_CREATE_PIT2, &pit) == 0) ||
	       fail("KVM can't create the interrupt controllers and the timer: %m");
}

static void com1_send(void *context, uint8_t byte)
{
	vm_console(context, byte);
}

static void com1_interrupt(void *context, bool level)
{
	struct kvm_irq_level line = { .irq = COM1_INTERRUPT, .level = level };

	if (ioctl(((struct vm *)context)->fd, KVM_IRQ_LINE, &line) < 0)
		vm_end(context, END_KVM, "can't raise the first serial port's interrupt: %m");
}

/* PM1 registers (ACPI 6.5, 4.8.3). The tables have no SMI command: ACPI mode is always on. */
#define CONTROL_AT     (PM1_CONTROL - PM1_EVENT)
#define SCI_ENABLED    1u
#define SLEEP_ENABLE   (1u << 13)
#define SLEEP_TYPE(to) ((to) >> 10 & 7)

static void power_access(void *context, struct access *access)
{
	if (!access->write)
		access->value = access->offset == CONTROL_AT ? SCI_ENABLED : 0;
	else if (access->offset == CONTROL_AT && access->value & SLEEP_ENABLE &&
		 SLEEP_TYPE(access->value) == SLEEP_TYPE_OFF)
		vm_end(context, END_OFF, "the guest powered off");
}

static void debug_access(void *context, struct access *access)
{
	if (access->write)
		com1_send(context, (uint8_t)access->value);
}

#define RESET_PULSE 0xfe

static void keyboard_access(void *context, struct access *access)
{
	if (!access->write)
		access->value = 0;
	else if ((uint8_t)access->value == RESET_PULSE)
		vm_end(context, END_RESET, "the guest asked for a reset");
}

/* The configuration ports of a PCI bus without devices: the address keeps what is written, all data are ones. Linux
 * makes resources of persistent memory only where it has found a PCI bus (e820__reserve_resources_late()). */
static void pci_access(void *context, struct access *access)
{
	uint32_t *address = context;

	if (access->bytes != sizeof(*address) || access->offset)
		return;
	if (access->write)
		*address = (uint32_t)access->value;
	else
		access->value = *address;
}

static bool add_pci(struct vm *vm)
{
	uint32_t *address = calloc(1, sizeof(*address)); /* never freed */

	if (!address)
		return fail("no memory for a PCI bus");
	return devices_add(&vm->devices, &(struct device){ "PCI", SPACE_PORT, PCI_ADDRESS, 4,
							   pci_access, address });
}

bool arch_add_devices(struct vm *vm)
{
	const struct device rows[] = {
		{ "COM1", SPACE_PORT, COM1, SERIAL_REGISTERS, serial_access, &vm->serial[0] },
		{ "COM2", SPACE_PORT, COM2, SERIAL_REGISTERS, serial_access, &vm->serial[1] },
		{ "PM1", SPACE_PORT, PM1_EVENT, 6, power_access, vm },
		{ "keyboard", SPACE_PORT, KEYBOARD_COMMAND, 1, keyboard_access, vm },
		{ "debug", SPACE_PORT, DEBUG_CONSOLE, 1, debug_access, vm },
	};

	vm->serial[0] =
		(struct serial){ .send = com1_send, .interrupt = com1_interrupt, .context = vm };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!devices_add(&vm->devices, &rows[i]))
			return false;
	return !vm->config->pmem[0] || add_pci(vm);
}
