/* A virtual machine: all its state, so that one process can hold several. Each of its vCPUs is a
 * thread that enters the guest and answers its exits. */
#pragma once

#include <linux/kvm.h>

#include "vmm/options.h"
#include "vmm/line_out.h"
#include "vmm/device_table.h"
#include "vmm/guest_memory.h"

#define MAX_REASONS   48 /* KVM_EXIT_ numbers; the last takes all beyond */
#define MAX_STATS     96
#define MAX_STAT_NAME 48

struct kvm {
	int fd, api, max_vcpus;
	int run_bytes;	/* of struct kvm_run's mapping */
	bool software;	/* no hardware virtualization below: guests are emulated */
	bool has_stats; /* KVM_CAP_BINARY_STATS_FD */
};

/* False: the error says why, and behind a colon the cure. */
bool kvm_open(struct kvm *kvm);
/* KVM_CHECK_EXTENSION: 0 or less where it is not there. */
int kvm_capability(const struct kvm *kvm, long capability);

struct stats {
	unsigned count; /* 0: none are offered */
	char names[MAX_STATS][MAX_STAT_NAME];
	uint64_t offsets[MAX_STATS]; /* in the file of each vCPU */
};

/* Learns the counters' names from one vCPU's file (-1: none are offered). Only those that count
 * up and have one value are taken. */
void stats_learn(struct stats *stats, int fd);
/* Adds one vCPU's counters to values[]. */
void stats_add(const struct stats *stats, int fd, uint64_t values[MAX_STATS]);

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

struct vm {
	const struct kvm *kvm;
	const struct config *config;
	int fd;
	struct memory memory;
	struct devices devices;
	struct console console;
	struct serial serial[2];
	struct stats stats; /* the names of KVM's counters */
	struct vcpu vcpus[MAX_VCPUS];
	unsigned vcpu_count;
	bool doorbell; /* it has one */

	atomic_bool ending; /* vm_end() was called; `end` and `why` are its first caller's */
	int end;
	char why[512];
	int end_event; /* an eventfd that becomes readable once they are there */
};

/* Makes a machine that does not run yet. It lasts as long as the process. */
bool vm_create(struct vm *vm, const struct kvm *kvm, const struct config *config, int console_fd);
/* Starts its threads, waits for its end, which timeout= and a signal that can be read from
 * console.wake bring too, and for the threads. False: one does not come out of the kernel. */
bool vm_run(struct vm *vm);
/* Asks all threads to stop; any thread may call it, and the first says why. */
void vm_end(struct vm *vm, int end, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Looks on which host CPU the thread is, by the kernel's word. */
void vcpu_look_where(struct vcpu *vcpu);

/* Runs what `config` asks for; words for people go to standard error. Returns how it ended. */
int session_run(struct config *config);
/* Finds out what /dev/kvm is by running something in it, and says so in one JSON line on standard
 * output. Returns END_OFF where a guest runs, else END_NO_KVM. */
int probe(void);
/* Adds the doorbell (bell.c) at a port. It lasts as long as the machine. */
bool bell_add(struct vm *vm, uint64_t port);
/* Adds the device of I/O latency (latency/) behind it. */
bool latency_add(struct vm *vm, uint64_t doorbell);
