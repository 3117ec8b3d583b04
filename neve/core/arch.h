/* What core/ asks of the other folders: all that depends on the processor. */
#ifndef ARCH_H
#define ARCH_H

#include <stdbool.h>
#include <stdint.h>

struct tree;
struct vm;
struct vcpu;
struct cpu;

/* The kind of processor, as records have it. */
extern const char arch_name[];

/* ---- The machine (machine/, gic/) --------------------------------------------- */

/* Never returns. */
_Noreturn void arch_power_off(void);

/* Sets the machine's interrupt controller up. NULL, or what is wrong. */
const char *arch_interrupts_init(const struct tree *tree);

/* Starts CPU `number` (not 0), which will come to cpu_main(). False: it does not come. */
bool arch_start_cpu(struct cpu *cpu);

/* Makes the CPU that runs us ready for guests. NULL, or what is wrong. */
const char *arch_cpu_init(struct cpu *cpu);

/* Makes another CPU look up: it leaves its guest, or its wait. */
void arch_kick(const struct cpu *cpu);

/* Waits until an interrupt comes; it stays pending. */
void arch_wait(void);

uint64_t arch_ticks(void);

/* ---- VMs (vm/stage2.c) -------------------------------------------------------------------- */

/* Prepares what the hardware needs of the VM; its devices' rows are added. */
const char *arch_vm_init(struct vm *vm);

/* Where the VM's memory begins. */
extern const uint64_t arch_ram_start;

/* What the hypervisor may read and write of the guest's memory at `ipa`, up to the end of the page;
 * NULL where no memory is. *bytes is how much. Makes the page if it was not there. */
uint8_t *arch_guest_memory(struct vm *vm, uint64_t ipa, uint64_t *bytes);

/* Makes what was written there visible to a guest whose caches are off, and to its fetches. */
void arch_publish(const void *from, uint64_t bytes);

/* The line of a device's interrupt; `self` is the vCPU that does it, NULL: none. Under the VM's lock. */
void arch_set_line(struct vm *vm, const struct vcpu *self, unsigned intid, bool high);

/* ---- vCPUs (vm/reset.c, vm/vcpu.c) ---------------------------------------------------------------- */

/* The vCPU is to start at `entry`: the first one at the kernel's, with the device tree's address in x0. */
void arch_vcpu_boot(struct vcpu *vcpu, uint64_t entry, uint64_t x0);

/* Resets it and lets it start where it was told; on its own CPU. */
void arch_vcpu_reset(struct vcpu *vcpu);

/* Runs the guest until it leaves, and answers that. */
void arch_vcpu_run(struct vcpu *vcpu);

/* Takes interrupts that are pending here, while the vCPU is off. */
void arch_take_interrupts(struct vcpu *vcpu);

/* By number in the table of registers. */
const char *arch_register_name(unsigned number);

#endif
