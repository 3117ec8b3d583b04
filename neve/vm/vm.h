/* A virtual machine, and its vCPUs. */
#ifndef VM_H
#define VM_H

#include "common/pl011.h"
#include "common/record.h"
#include "core/config.h"
#include "core/console.h"
#include "core/counts.h"
#include "core/cpus.h"
#include "core/devices.h"
#include "core/lock.h"
#include "vm/bell.h"
#include "vm/state.h"

struct vcpu {
	struct vm *vm;
	unsigned number;
	struct cpu *cpu;
	volatile bool powered;	  /* on, by PSCI */
	volatile bool must_reset; /* reset before the next entry */
	volatile bool attention;  /* its virtual interrupts changed */
	struct counts counts;
	enum level level; /* what runs on it now */
	struct arch_vcpu arch;
};

enum vm_state { VM_RUNS, VM_ENDS, VM_ENDED };

struct vm {
	unsigned number;
	const struct vm_config *config;
	struct vcpu vcpus[MAX_VCPUS];
	unsigned vcpu_count;
	uint64_t ram_start, ram_bytes; /* guest-physical */
	uint64_t ram;		       /* its physical address */

	struct lock lock; /* for devices, PSCI, the interrupt controller, stage 2 */
	struct devices devices;
	struct pl011 uarts[2]; /* the console; one whose output is discarded */
	uint64_t scratch;      /* the test device's register */
	struct guest_console console;
	struct record_line line;
	struct bell bell;
	struct arch_vm arch;

	enum vm_state state;
	unsigned vcpus_left; /* that have not left the VM yet */
	const char *status;  /* in the `bye` record */
	char why[160];
};

extern struct vm vms[MAX_VMS];
extern unsigned vm_count;

/* Creates VM `number` from its configuration, on the CPUs from `first_cpu` on. Returns NULL or an error
 * message. */
const char *vm_create(unsigned number, const struct vm_config *config, unsigned first_cpu);

/* Loads the kernel and what the boot protocol requires. Returns NULL or an error message. */
const char *vm_load(struct vm *vm);

/* Sends the VM's `hello` record, with the nonce and unit of its command line. */
void vm_hello(struct vm *vm);
/* Sends it with those of a launch of the lab, which begins in the running VM. All later records have this nonce. */
void vm_launch(struct vm *vm, uint64_t nonce, const char *unit);

/* Ends the VM with `status` "ok", "reset" or "error", and the reason. Only the first call has an effect.
 * The vCPUs are kicked and leave at their next exit. */
void vm_end(struct vm *vm, const char *status, const char *why, ...)
	__attribute__((format(printf, 3, 4)));

/* Passes a byte from the machine's console to the VM's. */
void vm_receive(struct vm *vm, uint8_t byte);

/* Copy to and from the guest's memory. Return false if there is no memory. */
bool vm_write(struct vm *vm, uint64_t ipa, const void *from, uint64_t bytes);
bool vm_read(struct vm *vm, void *to, uint64_t ipa, uint64_t bytes);

/* ---- vCPUs (vcpu.c) ------------------------------------------------------------------------- */

/* Runs the vCPU until its VM ends. */
void vcpu_run(struct vcpu *vcpu);

static inline void vcpu_count(struct vcpu *vcpu, unsigned cause)
{
	vcpu->counts.by_cause[vcpu->level * MAX_CAUSES + cause]++;
}

/* Tells the vCPUs in `mask` that their interrupts changed, and kicks them (but not `self`). */
void vcpu_notify(struct vm *vm, uint32_t mask, const struct vcpu *self);

#endif
