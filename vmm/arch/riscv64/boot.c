/* Boots a kernel (see vmm_arch.h) by Linux's RISC-V boot protocol (Documentation/arch/riscv/boot.rst), with
 * a device tree that describes the machine. Also creates the interrupt controller, because KVM requires the
 * vCPUs first. */
#include <string.h>

#include "vmm/vmm_arch.h"
#include <arch/kvm.h>

bool arch_load(const uint8_t *file, size_t bytes, const struct memory *memory,
	       struct kernel *kernel)
{
	return image_load(file, bytes, memory, kernel);
}

/* In supervisor mode, with address translation off: so KVM makes a vCPU. */
static bool enter_at(const struct vm *vm, uint64_t entry, uint64_t second)
{
	const struct vcpu *vcpu = &vm->vcpus[0];

	return register_set(vcpu, REGISTER(CORE, regs.pc), entry) &&
	       register_set(vcpu, REGISTER(CORE, regs.a0), vcpu->number) &&
	       register_set(vcpu, REGISTER(CORE, regs.a1), second);
}

bool arch_boot(struct vm *vm, const struct kernel *kernel, const struct region *initrd,
	       const char *command_line)
{
	struct machine_tree tree = { .cpus = vm->vcpu_count,
				     .memory_bytes = vm->memory.bytes,
				     .initrd = initrd->guest,
				     .initrd_bytes = initrd->bytes,
				     .pmem = vm->memory.pmem.guest,
				     .pmem_bytes = vm->memory.pmem.bytes,
				     .command_line = command_line };
	uint64_t at = (kernel->end + IMAGE_BOUNDARY - 1) & ~(IMAGE_BOUNDARY - 1);
	uint8_t *to = memory_at(&vm->memory, at, TREE_BYTES);

	if (!to || (initrd->bytes && initrd->guest < at + TREE_BYTES))
		return fail("no room for a device tree after the kernel: raise memory=");
	hart_read(&vm->vcpus[0], &tree.hart);
	if (!aia_create(vm, &tree))
		return false;
	if (!tree_write(to, TREE_BYTES, &tree))
		return fail("the device tree has more than %u KiB: use fewer vCPUs",
			    TREE_BYTES >> 10);
	return enter_at(vm, kernel->entry, at);
}

bool arch_boot_program(struct vm *vm, const void *program, size_t bytes)
{
	void *to = memory_at(&vm->memory, RAM, bytes);

	if (!to)
		return fail("no memory for a program of %zu bytes", bytes);
	memcpy(to, program, bytes);
	return enter_at(vm, RAM, 0);
}

/* An unmapped address: 1 << 12, for lui. */
#define PROBE_NOWHERE 1u

bool arch_boot_probe(struct vm *vm, uint8_t doorbell, uint16_t exits)
{
	/* lui and addi: the second adds 12 bits with a sign. */
	uint32_t high = (exits + 0x800u) & 0xfffff000u, low = (exits & 0xfffu) << 20;
	const uint32_t program[] = {
		0x00000413u | (uint32_t)doorbell << 20, /* li s0, doorbell */
		0x000004b7u | high,			/* lui s1, high part of exits */
		0x00048493u | low,			/* addi s1, s1, low part */
		0x00000937u | PROBE_NOWHERE << 12,	/* lui s2, PROBE_NOWHERE */
		0x00042023u,				/* sw zero, (s0) */
		0x00092023u,				/* 1: sw zero, (s2) */
		0xfff48493u,				/* addi s1, s1, -1 */
		0xfe049ce3u,				/* bnez s1, 1b */
		0x00042023u,				/* sw zero, (s0) */
		0x01000893u,				/* li a7, 0x10: SBI base */
		0x00000813u,				/* li a6, 0: its version */
		0x00000073u,				/* ecall: an exit that KVM handles */
		0x00042023u,				/* sw zero, (s0) */
		0x10500073u,				/* 2: wfi */
		0xffdff06fu,				/* j 2b */
	};

	return arch_boot_program(vm, program, sizeof(program));
}
