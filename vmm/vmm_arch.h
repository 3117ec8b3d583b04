/* The interface to arch/: everything that depends on the architecture, under the same names in each
 * (machine.c, boot.c, vcpu.c). */
#pragma once

#include "vmm/kvm_vm.h"

/* Does /dev/kvm lack hardware virtualization? */
bool arch_kvm_is_software(void);
/* Lays out that much memory in guest-physical addresses. */
void arch_memory_layout(struct memory *memory, uint64_t bytes);
/* Where persistent memory begins, beside that memory. */
uint64_t arch_pmem_address(const struct memory *memory);
/* Creates interrupt controllers and timers, before the first vCPU. */
bool arch_machine_init(struct vm *vm);
/* Adds serial ports, power-off, reset. */
bool arch_add_devices(struct vm *vm);

/* Loads a kernel into memory, by the loader for its format. */
bool arch_load(const uint8_t *file, size_t bytes, const struct memory *memory,
	       struct kernel *kernel);
/* Writes firmware tables and boot information, and sets vCPU 0 to start the kernel. `initrd` has 0 bytes if
 * there is none. */
bool arch_boot(struct vm *vm, const struct kernel *kernel, const struct region *initrd,
	       const char *command_line);
/* Loads position-independent code into a machine without a kernel, and sets vCPU 0 to start it: on x86 in
 * flat 32-bit protected mode at 0x1000; on aarch64 at 1 GiB, with the GIC version in x0; on riscv64 at 2 GiB,
 * without an interrupt controller. */
bool arch_boot_program(struct vm *vm, const void *program, size_t bytes);
/* Loads a small program that does `exits` writes to a port between two rings of `doorbell`, then rings a
 * third time; sets vCPU 0 to start it. */
bool arch_boot_probe(struct vm *vm, uint8_t doorbell, uint16_t exits);

bool arch_vcpu_init(struct vcpu *vcpu);
/* Handles the exit with which KVM_RUN returned; calls vm_end() if it cannot. */
void arch_exit(struct vcpu *vcpu);
/* Ends the machine if KVM_RUN's error is the guest's fault. Only RISC-V gives such an error its own message. */
#ifdef __riscv
bool arch_run_failed(struct vcpu *vcpu, int error);
#else
static inline bool arch_run_failed(struct vcpu *vcpu, int error)
{
	(void)vcpu;
	(void)error;
	return false;
}
#endif
