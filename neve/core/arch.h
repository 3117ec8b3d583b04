/* What core/ and vm/ require of the other folders: everything that depends on the architecture. */
#ifndef ARCH_H
#define ARCH_H

#include <stdbool.h>
#include <stdint.h>

struct tree;
struct vm;
struct vcpu;
struct cpu;

/* The architecture's name in records. */
extern const char arch_name[];

/* ---- The machine (machine/, gic/) --------------------------------------------- */

/* Never returns. */
_Noreturn void arch_power_off(void);

/* Sets up the machine's interrupt controller. Returns NULL or an error message. */
const char *arch_interrupts_init(const struct tree *tree);

/* Starts a CPU other than 0, which runs cpu_main(). Returns false if it does not start. */
bool arch_start_cpu(struct cpu *cpu);

/* Prepares the calling CPU for guests. Returns NULL or an error message. */
const char *arch_cpu_init(struct cpu *cpu);

/* Interrupts another CPU: it leaves its guest, or arch_wait(). */
void arch_kick(const struct cpu *cpu);

/* Waits for an interrupt, which stays pending. */
void arch_wait(void);

uint64_t arch_ticks(void);

/* ---- VMs (exits/stage2.c) -------------------------------------------------------------------- */

/* Sets up the VM's stage 2, VMID, PSCI and GIC, and adds the GIC's device rows. Returns NULL or an error
 * message. */
const char *arch_vm_init(struct vm *vm);

/* Guest-physical address at which a VM's memory begins. */
extern const uint64_t arch_ram_start;

/* Our pointer to the guest's memory at `ipa`, valid for *bytes (up to the end of the page or block), or
 * NULL if no memory is there. Maps the page first if necessary. */
uint8_t *arch_guest_memory(struct vm *vm, uint64_t ipa, uint64_t *bytes);

/* Makes written data visible to a guest whose caches are off, and to its instruction fetches. */
void arch_publish(const void *from, uint64_t bytes);

/* Sets a device's interrupt line. `self` is the calling vCPU, or NULL. The caller holds the VM's lock. */
void arch_set_line(struct vm *vm, const struct vcpu *self, unsigned intid, bool high);

/* ---- vCPUs (exits/reset.c, exits/exits.c) ---------------------------------------------------------------- */

/* Sets where the vCPU starts at its next reset. The first vCPU starts at the kernel's entry point, with
 * the device tree's address in x0. */
void arch_vcpu_boot(struct vcpu *vcpu, uint64_t entry, uint64_t x0);

/* Resets the vCPU to what arch_vcpu_boot() set. Runs on the vCPU's own CPU. */
void arch_vcpu_reset(struct vcpu *vcpu);

/* Runs the guest until its next exit, and handles the exit. */
void arch_vcpu_run(struct vcpu *vcpu);

/* Handles all interrupts that are pending on this CPU. */
void arch_take_interrupts(struct vcpu *vcpu);

/* Name of a row of cpu/registers.h. */
const char *arch_register_name(unsigned number);

#endif
