/* What the rest asks of arch/: all that depends on the processor, under the same names for each. */
#ifndef ARCH_H
#define ARCH_H

#include <stddef.h>

#include "kvm.h"
#include "loader_elf.h"
#include "vcpu.h"

/* ---- KVM (arch/.../kvm.c) ------------------------------------------------------------------ */

/* No hardware virtualization below /dev/kvm? */
bool arch_kvm_is_software(void);

/* Capabilities without which no guest of ours runs; the last has no name. */
const struct kvm_need *arch_kvm_needs(void);

/* ---- The machine (machine.c) --------------------------------------------------------------- */

#define ARCH_NAME_BYTES 16
extern const char arch_name[ARCH_NAME_BYTES];
extern const uint16_t arch_elf_machine;

/* Where in guest-physical addresses that much memory lies. */
void arch_memory_layout(struct memory *memory, uint64_t bytes);

/* Interrupt controller and timers, before the first vCPU. */
bool arch_machine_init(struct vm *vm, struct error *error);

/* Serial ports, power-off, reset. */
bool arch_add_devices(struct vm *vm, struct error *error);

/* ---- Boot (boot.c) ------------------------------------------------------------------------- */

/* Below it lies what the boot protocol hands over: a kernel must be loaded above. */
extern const uint64_t arch_kernel_lowest;

/* Writes firmware tables and what the boot protocol hands over, and points vCPU 0 at the kernel. */
bool arch_boot(struct vm *vm, const struct elf_kernel *kernel, const char *command_line,
	       struct error *error);

/* A few instructions that do `exits` port writes between two rings of `doorbell` and then ring a
 * third time; vCPU 0 stands before the first. */
bool arch_boot_probe(struct vm *vm, uint16_t doorbell, uint32_t exits, struct error *error);

/* ---- vCPUs (vcpu.c) ------------------------------------------------------------------------ */

bool arch_vcpu_init(struct vcpu *vcpu, struct error *error);

/* Answers what KVM_RUN came back for; calls vm_end() where nothing can be done. */
void arch_exit(struct vcpu *vcpu);

#endif
