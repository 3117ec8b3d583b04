/* What the rest asks of arch/: all that depends on the processor, under the same names for each
 * (machine.c, boot.c, vcpu.c). */
#pragma once

#include "vmm/kvm_vm.h"

/* No hardware virtualization below /dev/kvm? */
bool arch_kvm_is_software(void);
/* Where in guest-physical addresses that much memory lies. */
void arch_memory_layout(struct memory *memory, uint64_t bytes);
/* Interrupt controller and timers, before the first vCPU. */
bool arch_machine_init(struct vm *vm);
/* Serial ports, power-off, reset. */
bool arch_add_devices(struct vm *vm);

/* Puts a kernel into memory, by the loader for its kind of file. */
bool arch_load(const uint8_t *file, size_t bytes, const struct memory *memory,
	       struct kernel *kernel);
/* Writes firmware tables and what the boot protocol hands over, and points vCPU 0 at the kernel.
 * The initial RAM disk has 0 bytes where there is none. */
bool arch_boot(struct vm *vm, const struct kernel *kernel, const struct region *initrd,
	       const char *command_line);
/* Puts position-independent code where a machine without a kernel may have it, and points vCPU 0 there: on
 * x86 in flat 32-bit protected mode at 0x1000; on aarch64 at 1 GiB, x0 the version of the GIC. */
bool arch_boot_program(struct vm *vm, const void *program, size_t bytes);
/* A few instructions that do `exits` writes to a port between two rings of `doorbell` and then ring a
 * third time; vCPU 0 stands before the first. */
bool arch_boot_probe(struct vm *vm, uint8_t doorbell, uint16_t exits);

bool arch_vcpu_init(struct vcpu *vcpu);
/* Answers what KVM_RUN came back for; calls vm_end() where nothing can be done. */
void arch_exit(struct vcpu *vcpu);
