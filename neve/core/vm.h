/* A virtual machine, and its vCPUs. */
#ifndef VM_H
#define VM_H

#include "common/pl011.h"
#include "common/record.h"
#include "core/bell.h"
#include "core/config.h"
#include "core/console.h"
#include "core/counts.h"
#include "core/devices.h"
#include "core/lock.h"
#include "vm/state.h"

/* A CPU of the machine. It has one vCPU for ever, or none. */
struct cpu {
	uint8_t *stack_end; /* assembly knows that it comes first */
	unsigned number;
	uint64_t id; /* MPIDR's affinity */
	struct vcpu *vcpu;
	volatile bool started;
};

struct vcpu {
	struct vm *vm;
	unsigned number;
	struct cpu *cpu;
	volatile bool powered;	  /* runs its guest, or is to */
	volatile bool must_reset; /* CPU_ON asked for it */
	volatile bool attention;  /* its virtual interrupts changed */
	struct counts counts;
	enum level level; /* who runs on it */
	struct arch_vcpu arch;
};

enum vm_state { VM_RUNS, VM_ENDS, VM_ENDED };

struct vm {
	unsigned number;
	const struct vm_config *config;
	struct vcpu vcpus[MAX_VCPUS];
	unsigned vcpu_count;
	uint64_t ram_start, ram_bytes; /* guest-physical */
	uint64_t ram;		       /* where that is */

	struct lock lock; /* devices, PSCI, the interrupt controller, stage 2 */
	struct devices devices;
	struct pl011 uarts[2]; /* the console; one whose bytes go nowhere */
	uint64_t scratch;      /* the test device's register */
	struct guest_console console;
	struct record_line line;
	struct bell bell;
	struct arch_vm arch;

	enum vm_state state;
	unsigned vcpus_left; /* that have not seen the end yet */
	const char *status;  /* of `bye` */
	char why[160];
};

extern struct vm vms[MAX_VMS];
extern unsigned vm_count;
extern struct cpu machine_cpus[];
extern unsigned machine_cpu_count;

/* Makes VM `number` from its configuration, on the CPUs from `first_cpu` on. NULL, or what is wrong. */
const char *vm_create(unsigned number, const struct vm_config *config, unsigned first_cpu);

/* Loads its kernel and all that the boot protocol wants. NULL, or what is wrong. */
const char *vm_load(struct vm *vm);

/* Its hello. */
void vm_hello(struct vm *vm);

/* Ends it: `status` "ok", "reset" or "error"; why, in words. The first call counts; its vCPUs see it when
 * they leave their guest, which they are made to. */
void vm_end(struct vm *vm, const char *status, const char *why, ...)
	__attribute__((format(printf, 3, 4)));

/* A byte for its console, from the machine's. */
void vm_receive(struct vm *vm, uint8_t byte);

/* Copies to the guest's memory; false: there is none. */
bool vm_write(struct vm *vm, uint64_t ipa, const void *from, uint64_t bytes);
bool vm_read(struct vm *vm, void *to, uint64_t ipa, uint64_t bytes);

/* ---- vCPUs (vcpu.c) ------------------------------------------------------------------------- */

/* Runs the vCPU until its VM ends. */
void vcpu_run(struct vcpu *vcpu);

static inline void vcpu_count(struct vcpu *vcpu, unsigned cause)
{
	vcpu->counts.by_cause[vcpu->level * MAX_CAUSES + cause]++;
}

/* Tells the vCPUs of the mask that their interrupts changed. */
void vcpu_notify(struct vm *vm, uint32_t mask, const struct vcpu *self);

#endif
