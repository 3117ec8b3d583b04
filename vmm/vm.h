/* A virtual machine: all its state, so that one process can hold several. */
#ifndef VM_H
#define VM_H

#include "config.h"
#include "console.h"
#include "devices.h"
#include "kvm.h"
#include "serial.h"
#include "stats.h"
#include "vcpu.h"

#define SERIAL_PORTS 2

/* How a machine ended; also our exit status (docs/vmm.md). */
enum end {
	END_OFF = 0,	  /* the guest powered it off */
	END_ERROR = 1,	  /* our own trouble: a file, the console, memory */
	END_USAGE = 2,	  /* wrong arguments */
	END_RESET = 10,	  /* triple fault, or the guest asked for a reset */
	END_KVM = 11,	  /* KVM gave the guest up */
	END_FLOOD = 12,	  /* more console text than was allowed */
	END_TIMEOUT = 13, /* timeout= */
	END_NO_KVM = 14,  /* /dev/kvm can't be used */
	END_SIGNAL = 128, /* + the signal's number */
};

struct vm {
	const struct kvm *kvm;
	const struct config *config;
	int fd;
	struct memory memory;
	struct devices devices;
	struct console console;
	struct serial serial[SERIAL_PORTS];
	struct stats stats; /* the names of KVM's counters */
	struct vcpu vcpus[MAX_VCPUS];
	unsigned vcpu_count;

	atomic_bool ending; /* vm_end() was called; `end` and `why` are its first caller's */
	int end;
	char why[512];
	int end_event; /* an eventfd that becomes readable once they are there */
};

/* Makes a machine that does not run yet. After a failure too, vm_destroy() is due. */
bool vm_create(struct vm *vm, const struct kvm *kvm, const struct config *config, int console_fd,
	       struct error *error);
bool vm_start(struct vm *vm, struct error *error);

/* Asks all threads to stop; any thread may call it, and the first says why. */
void vm_end(struct vm *vm, int end, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Waits for the threads, after vm_end(). False: one does not come out of the kernel. */
bool vm_join(struct vm *vm);
void vm_destroy(struct vm *vm);

#endif
