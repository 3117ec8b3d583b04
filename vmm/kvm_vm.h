/* A virtual machine: all of its state, so that one process can hold several. Each vCPU is a thread that
 * enters the guest and handles its exits. */
#pragma once

#include <linux/kvm.h>

#include "common/bell_note.h"
#include "vmm/options.h"
#include "vmm/line_out.h"
#include "vmm/device_table.h"
#include "vmm/guest_memory.h"

#define MAX_REASONS   48 /* KVM_EXIT_ numbers; the last counts all higher ones */
#define MAX_STATS     96
#define MAX_STAT_NAME 48

struct kvm {
	int fd, api, max_vcpus;
	int run_bytes;	/* size of struct kvm_run's mapping */
	bool software;	/* no hardware virtualization: guests are emulated */
	bool has_stats; /* KVM_CAP_BINARY_STATS_FD */
};

/* False: error_text has the reason and, after a colon, the remedy. */
bool kvm_open(struct kvm *kvm);
/* KVM_CHECK_EXTENSION: 0 or less if not supported. */
int kvm_capability(const struct kvm *kvm, long capability);

struct stats {
	unsigned count; /* 0: none */
	char names[MAX_STATS][MAX_STAT_NAME];
	uint64_t offsets[MAX_STATS]; /* in the file of each vCPU */
};

/* Reads the counters' names from one vCPU's stats file (-1: none). Only cumulative counters with one value
 * are used. */
void stats_learn(struct stats *stats, int fd);
/* Adds one vCPU's counters to values[]. */
void stats_add(const struct stats *stats, int fd, uint64_t values[MAX_STATS]);

/* How a machine ended; also vmm's exit status (docs/vmm.md). */
enum end {
	END_OFF = 0,	  /* the guest powered it off */
	END_ERROR = 1,	  /* our own error: a file, the console, memory */
	END_USAGE = 2,	  /* wrong arguments */
	END_RESET = 10,	  /* triple fault, or the guest asked for a reset */
	END_KVM = 11,	  /* KVM failed */
	END_FLOOD = 12,	  /* more console output than allowed */
	END_TIMEOUT = 13, /* timeout= expired */
	END_NO_KVM = 14,  /* /dev/kvm is not usable */
	END_SIGNAL = 128, /* + the signal's number */
};

struct vcpu {
	struct vm *vm;
	unsigned number;
	int fd, stats_fd; /* stats_fd -1: none */
	struct kvm_run *run;
	pthread_t thread;
	bool started;
	_Atomic int task; /* thread ID; 0: not running yet */

	/* Written by any thread that looks, mostly by the vCPU's own. */
	_Atomic uint64_t returns[MAX_REASONS]; /* from KVM_RUN, by reason */
	_Atomic uint64_t interrupted;	       /* ... by a signal */
	_Atomic uint64_t moves;		       /* times it was found on another host CPU */
	_Atomic int host_cpu;		       /* last seen; -1: not yet */
};

struct vm {
	const struct kvm *kvm;
	const struct config *config;
	int fd;
	struct memory memory;
	struct devices devices;
	struct console console;
	struct serial serial[2];
	struct stats stats; /* names of KVM's counters */
	struct vcpu vcpus[MAX_VCPUS];
	unsigned vcpu_count;
	bool doorbell; /* it has a doorbell */

	atomic_bool ending; /* vm_end() was called; `end` and `why` are the first caller's */
	int end;
	char why[512];
	int end_event; /* an eventfd, readable once both are set */

	const char *launch; /* the launch's lines for the guest's monitor; NULL: unknown */
};

/* Creates a machine that does not run yet. It lives until the process exits. */
bool vm_create(struct vm *vm, const struct kvm *kvm, const struct config *config, int console_fd);
/* Starts the vCPU threads, waits for the end of the machine (also ended by timeout= and by signals readable
 * from console.wake), then for the threads. False: a thread is stuck in the kernel. */
bool vm_run(struct vm *vm);
/* Asks all threads to stop; any thread may call it. The first call sets `end` and `why`. */
void vm_end(struct vm *vm, int end, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Writes a byte to the guest's console. A console that is full or fails ends the machine. */
void vm_console(struct vm *vm, uint8_t byte);
/* Notes the host CPU on which the vCPU's thread runs, as the kernel reports it. */
void vcpu_look_where(struct vcpu *vcpu);

/* Sends the record `hello`. */
void session_hello(struct vm *vm, const char *unit);
/* Runs the guest of `config`; messages go to standard error. Returns how it ended. */
int session_run(struct config *config);
/* Tests /dev/kvm by running a small guest, and prints one JSON line. Returns END_OFF if the guest ran, else
 * END_NO_KVM. */
int probe(void);
/* Adds the doorbell (bell.c) at a port. It lives as long as the machine. */
bool bell_add(struct vm *vm, uint64_t port);
/* Answers a monitor in the guest that rings for the lab's launch (launch.c). `note` is a copy of its note, which is
 * at `to`. */
void launch_access(struct vm *vm, const struct bell_note *note, struct bell_note *to);
/* Adds the I/O latency device (latency/) after it. */
bool latency_add(struct vm *vm, uint64_t doorbell);
