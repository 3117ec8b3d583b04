/* A PC as far as small kernels need one: memory layout, interrupt controllers, the rows of its
 * devices (see arch.h). */
#include "machine.h"

#include <elf.h>
#include <string.h>
#include <sys/ioctl.h>

#include "arch.h"
#include "vm.h"

const char arch_name[ARCH_NAME_BYTES] = "x86_64";
const uint16_t arch_elf_machine = EM_X86_64;
const uint64_t arch_kernel_lowest = ACPI_END;

void arch_memory_layout(struct memory *memory, uint64_t bytes)
{
	uint64_t low = bytes < HOLE_START ? bytes : HOLE_START;

	*memory = (struct memory){ .bytes = bytes, .count = bytes > low ? 2 : 1 };
	memory->regions[0] = (struct region){ .guest = 0, .bytes = low };
	memory->regions[1] = (struct region){ .guest = HOLE_END, .bytes = bytes - low };
}

bool arch_machine_init(struct vm *vm, struct error *error)
{
	struct kvm_pit_config pit = { .flags = KVM_PIT_SPEAKER_DUMMY };

	if (ioctl(vm->fd, KVM_SET_TSS_ADDR, TSS_PAGES) < 0)
		return error_set(error, "KVM_SET_TSS_ADDR: %m");
	if (ioctl(vm->fd, KVM_CREATE_IRQCHIP, 0) < 0)
		return error_set(error, "KVM_CREATE_IRQCHIP: %m");
	if (ioctl(vm->fd, KVM_CREATE_PIT2, &pit) < 0)
		return error_set(error, "KVM_CREATE_PIT2: %m");
	return true;
}

/* ---- Devices ------------------------------------------------------------------------------- */

static void com1_send(void *context, uint8_t byte)
{
	struct vm *vm = context;

	switch (console_put(&vm->console, byte)) {
	case CONSOLE_OK:
		break;
	case CONSOLE_FULL:
		vm_end(vm, END_FLOOD, "the guest wrote more than the %lu bytes of console-max",
		       vm->console.most);
		break;
	case CONSOLE_FAILED:
		vm_end(vm, END_ERROR, "the console can't be written");
		break;
	}
}

/* PM1 registers (ACPI 6.5, 4.8.3). No SMI command in the tables: ACPI mode is always on. */
#define CONTROL_AT     (PM1_CONTROL - PM1_EVENT)
#define SCI_ENABLED    1u
#define SLEEP_ENABLE   (1u << 13)
#define SLEEP_TYPE(to) ((to) >> 10 & 7)

static void power_access(void *context, const struct access *access)
{
	uint64_t value = access_value(access);

	if (!access->write)
		access_answer(access, access->offset == CONTROL_AT ? SCI_ENABLED : 0);
	else if (access->offset == CONTROL_AT && value & SLEEP_ENABLE &&
		 SLEEP_TYPE(value) == SLEEP_TYPE_OFF)
		vm_end(context, END_OFF, "the guest powered off");
}

#define RESET_PULSE 0xfe

static void keyboard_access(void *context, const struct access *access)
{
	if (!access->write)
		access_answer(access, 0);
	else if (access->data[0] == RESET_PULSE)
		vm_end(context, END_RESET, "the guest asked for a reset");
}

bool arch_add_devices(struct vm *vm, struct error *error)
{
	const struct device rows[] = {
		{ "COM1", SPACE_PORT, COM1, SERIAL_REGISTERS, serial_access, &vm->serial[0] },
		{ "COM2", SPACE_PORT, COM2, SERIAL_REGISTERS, serial_access, &vm->serial[1] },
		{ "PM1", SPACE_PORT, PM1_EVENT, 6, power_access, vm },
		{ "keyboard", SPACE_PORT, KEYBOARD_COMMAND, 1, keyboard_access, vm },
	};

	vm->serial[0].send = com1_send;
	vm->serial[0].context = vm;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!devices_add(&vm->devices, &rows[i], error))
			return false;
	return true;
}
