/* The interrupt controller in KVM (RISC-V Advanced Interrupt Architecture 1.0): an IMSIC for each vCPU, and
 * an APLIC that makes messages of the serial port's line. Only hosts with Ssaia have it. Where their IMSICs
 * have guest files, KVM uses these. */
#include "vmm/device_set.h"
#include <arch/kvm.h>

#include <errno.h>
#include <sys/ioctl.h>

#define MOST_SOURCES 96

static bool set_number(int device, uint64_t number, uint32_t value)
{
	return device_set(device, KVM_DEV_RISCV_AIA_GRP_CONFIG, number, &value);
}

static bool set_address(int device, uint64_t what, uint64_t address)
{
	return device_set(device, KVM_DEV_RISCV_AIA_GRP_ADDR, what, &address);
}

/* KVM finds a vCPU by bits of its IMSIC's address. */
static uint32_t hart_bits(unsigned cpus)
{
	uint32_t bits = 0;

	while (1u << bits < cpus)
		bits++;
	return bits;
}

static bool set_up(const struct vm *vm, int device, struct machine_tree *tree)
{
	struct kvm_device_attr ids = { .group = KVM_DEV_RISCV_AIA_GRP_CONFIG,
				       .attr = KVM_DEV_RISCV_AIA_CONFIG_IDS,
				       .addr = (uint64_t)&tree->ids };

	/* As many as the host's IMSICs have. There can't be more sources. */
	if (ioctl(device, KVM_GET_DEVICE_ATTR, &ids) < 0)
		return false;
	tree->sources = tree->ids < MOST_SOURCES ? tree->ids : MOST_SOURCES;
	if (!set_number(device, KVM_DEV_RISCV_AIA_CONFIG_SRCS, tree->sources) ||
	    !set_number(device, KVM_DEV_RISCV_AIA_CONFIG_HART_BITS, hart_bits(vm->vcpu_count)) ||
	    !set_address(device, KVM_DEV_RISCV_AIA_ADDR_APLIC, APLIC))
		return false;
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		if (!set_address(device, KVM_DEV_RISCV_AIA_ADDR_IMSIC((uint64_t)i),
				 IMSIC + (uint64_t)i * KVM_DEV_RISCV_IMSIC_SIZE))
			return false;
	return device_set(device, KVM_DEV_RISCV_AIA_GRP_CTRL, KVM_DEV_RISCV_AIA_CTRL_INIT, NULL);
}

static void uart0_interrupt(void *context, bool level)
{
	struct kvm_irq_level line = { .irq = UART0_SOURCE, .level = level };

	if (ioctl(((struct vm *)context)->fd, KVM_IRQ_LINE, &line) < 0)
		vm_end(context, END_KVM, "can't raise the first serial port's interrupt: %m");
}

bool aia_create(struct vm *vm, struct machine_tree *tree)
{
	struct kvm_create_device device = { .type = KVM_DEV_TYPE_RISCV_AIA };

	/* ENODEV: this host has no AIA, and so the VM has no interrupt controller. */
	if (ioctl(vm->fd, KVM_CREATE_DEVICE, &device) < 0)
		return errno == ENODEV || fail("KVM can't create the AIA interrupt controller: %m");
	if (!set_up(vm, (int)device.fd, tree))
		return fail("KVM can't set up the AIA interrupt controller: %m");
	vm->serial[0].interrupt = uart0_interrupt;
	return true;
}
