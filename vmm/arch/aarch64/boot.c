/* Boots a kernel (see vmm_arch.h) by Linux's arm64 boot protocol (Documentation/arch/arm64/booting.rst),
 * with a device tree that describes the machine. Also creates the interrupt controller, because KVM
 * requires the vCPUs first. */
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vmm/device_set.h"
#include "vmm/vmm_arch.h"
#include "common/arm64_image.h"
#include "common/virt_tree.h"
#include <arch/board.h>

/* Since Linux 6.14; older headers lack it. */
#define GROUP_MAINTENANCE 9

bool arch_load(const uint8_t *file, size_t bytes, const struct memory *memory,
	       struct kernel *kernel)
{
	return kernel->xen[0] ? xen_load(file, bytes, memory, kernel)
			      : image_load(file, bytes, memory, kernel);
}

static bool set_address(int device, uint64_t type, uint64_t address)
{
	return device_set(device, KVM_DEV_ARM_VGIC_GRP_ADDR, type, &address);
}

static int create_device(const struct vm *vm, uint32_t type)
{
	struct kvm_create_device device = { .type = type };

	return ioctl(vm->fd, KVM_CREATE_DEVICE, &device) < 0 ? -1 : (int)device.fd;
}

/* GICv3, or GICv2 where the host has nothing newer. */
static bool create_gic(const struct vm *vm, struct machine_tree *tree)
{
	uint32_t interrupts = INTERRUPTS, maintenance = PPI_MAINTENANCE;
	int gic = create_device(vm, KVM_DEV_TYPE_ARM_VGIC_V3), its;
	bool placed;

	tree->gic_version = gic < 0 ? 2 : 3;
	if (tree->gic_version == 3) {
		placed = set_address(gic, KVM_VGIC_V3_ADDR_TYPE_DIST, GIC_DISTRIBUTOR) &&
			 set_address(gic, KVM_VGIC_V3_ADDR_TYPE_REDIST, GIC_REDISTRIBUTORS);
	} else {
		gic = create_device(vm, KVM_DEV_TYPE_ARM_VGIC_V2);
		if (gic < 0)
			return fail("KVM has no interrupt controller for guests: %m");
		placed = set_address(gic, KVM_VGIC_V2_ADDR_TYPE_DIST, GIC_DISTRIBUTOR) &&
			 set_address(gic, KVM_VGIC_V2_ADDR_TYPE_CPU, GIC_CPU_INTERFACE);
	}
	if (!placed || !device_set(gic, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &interrupts) ||
	    (tree->el2 && !device_set(gic, GROUP_MAINTENANCE, 0, &maintenance)) ||
	    !device_set(gic, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, NULL))
		return fail("KVM can't create the interrupt controller, a GICv%u: %m",
			    tree->gic_version);
	its = tree->gic_version == 3 ? create_device(vm, KVM_DEV_TYPE_ARM_VGIC_ITS) : -1;
	tree->has_its =
		its >= 0 && set_address(its, KVM_VGIC_ITS_ADDR_TYPE, GIC_ITS) &&
		device_set(its, KVM_DEV_ARM_VGIC_GRP_CTRL, KVM_DEV_ARM_VGIC_CTRL_INIT, NULL);
	return true;
}

static bool set_register(const struct vcpu *vcpu, size_t offset, uint64_t value)
{
	struct kvm_one_reg reg = { .addr = (uint64_t)&value };

	reg.id = KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | offset / sizeof(uint32_t);
	return ioctl(vcpu->fd, KVM_SET_ONE_REG, &reg) == 0 ||
	       fail("KVM can't set a register of vCPU %u: %m", vcpu->number);
}

static bool enter_at(const struct vm *vm, uint64_t entry, uint64_t first)
{
	return set_register(&vm->vcpus[0], offsetof(struct kvm_regs, regs.pc), entry) &&
	       set_register(&vm->vcpus[0], offsetof(struct kvm_regs, regs.regs[0]), first);
}

bool arch_boot(struct vm *vm, const struct kernel *kernel, const struct region *initrd,
	       const char *command_line)
{
	const struct domains domains = { .bytes = kernel->domain_bytes,
					 .parameters = vm->config->xen_append,
					 .answers = kernel->worldswitch };
	struct machine_tree tree = { .cpus = vm->vcpu_count,
				     .el2 = config_el2(vm->config) != EL2_NONE,
				     .memory_bytes = vm->memory.bytes,
				     .initrd = initrd->guest,
				     .initrd_bytes = initrd->bytes,
				     .pmem = vm->memory.pmem.guest,
				     .pmem_bytes = vm->memory.pmem.bytes,
				     .domains = domains.bytes ? &domains : NULL,
				     .command_line = command_line };
	uint64_t at = (kernel->end + ARM64_IMAGE_BOUNDARY - 1) & ~(ARM64_IMAGE_BOUNDARY - 1);
	uint8_t *to = memory_at(&vm->memory, at, TREE_BYTES);

	if (!to || (initrd->bytes && initrd->guest < at + TREE_BYTES))
		return fail("no room for a device tree after the kernel: raise memory=");
	if (!create_gic(vm, &tree))
		return false;
	if (!tree_write(to, TREE_BYTES, &tree))
		return fail("the device tree has more than %u KiB", TREE_BYTES >> 10);
	return enter_at(vm, kernel->entry, at);
}

bool arch_boot_program(struct vm *vm, const void *program, size_t bytes)
{
	struct machine_tree tree = { 0 };
	void *to = memory_at(&vm->memory, RAM, bytes);

	if (!to)
		return fail("no memory for a program of %zu bytes", bytes);
	memcpy(to, program, bytes);
	return create_gic(vm, &tree) && enter_at(vm, RAM, tree.gic_version);
}

#define PROBE_NOWHERE 0x1000 /* an unmapped address */

bool arch_boot_probe(struct vm *vm, uint8_t doorbell, uint16_t exits)
{
	const uint32_t program[] = {
		0xd2800000u | (uint32_t)doorbell << 5, /* mov x0, #doorbell */
		0xd2800001u | (uint32_t)exits << 5,    /* mov x1, #exits */
		0xd2800002u | PROBE_NOWHERE << 5,      /* mov x2, #PROBE_NOWHERE */
		0xb900001fu,			       /* str wzr, [x0] */
		0xb900005fu,			       /* 1: str wzr, [x2] */
		0xf1000421u,			       /* subs x1, x1, #1 */
		0x54ffffc1u,			       /* b.ne 1b */
		0xb900001fu,			       /* str wzr, [x0] */
		0xaa0003e4u,			       /* mov x4, x0 */
		0x52b08000u,			       /* mov w0, #0x84000000: PSCI_VERSION */
		0xd4000002u,			       /* hvc #0: an exit that KVM handles */
		0xb900009fu,			       /* str wzr, [x4] */
		0xd503207fu,			       /* 2: wfi */
		0x17ffffffu,			       /* b 2b */
	};

	return arch_boot_program(vm, program, sizeof(program));
}
