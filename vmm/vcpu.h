/* A vCPU: a thread that enters the guest and answers its exits. */
#ifndef VCPU_H
#define VCPU_H

#include <linux/kvm.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "error.h"

#define MAX_REASONS 48 /* KVM_EXIT_ numbers; the last takes all beyond */

struct vm;

struct vcpu {
	struct vm *vm;
	unsigned number;
	int fd, stats_fd; /* stats_fd -1: none */
	struct kvm_run *run;
	pthread_t thread;
	bool started;
	_Atomic int task; /* the thread's id; 0: it does not run yet */

	/* Written by whoever looks, mostly the thread itself. */
	_Atomic uint64_t returns[MAX_REASONS]; /* of KVM_RUN, by reason */
	_Atomic uint64_t interrupted;	       /* ... because of a signal */
	_Atomic uint64_t moves;		       /* seen on another host CPU than before */
	_Atomic int host_cpu;		       /* seen last; -1: nowhere yet */
};

bool vcpu_create(struct vcpu *vcpu, struct vm *vm, unsigned number, struct error *error);
void vcpu_destroy(struct vcpu *vcpu);

/* Starts the thread, which runs until vm_end(). */
bool vcpu_start(struct vcpu *vcpu, struct error *error);

/* Gets the thread out of the guest, for good once vm_end() was called. */
void vcpu_kick(struct vcpu *vcpu);

/* Looks on which host CPU the thread is, by the kernel's word. */
void vcpu_look_where(struct vcpu *vcpu);

/* Once in a process: what the kick is, and no death by a broken pipe or a file that is full. */
void vcpu_signals(void);

/* "io", "mmio", ...; a number that has no name is "other". */
const char *vcpu_reason_name(unsigned reason);

#endif
