/* The host's side of the VM: starts it, gives its agent orders, and samples counters at its marks. */
#pragma once

#include <sys/types.h>

#include "below.h"
#include "command.h"
#include "kvm_counts.h"
#include "message.h"
#include "threads.h"
#include "tracing.h"

/* An order to the guest's agent. */
struct order {
	enum phase phase;
	const char *workload;
	uint64_t units; /* that its `run` does */
	uint64_t pad;	/* instructions before the window */
};

/* What was measured. */
struct measured {
	struct bell_note note; /* for the hypervisor below (below.h) */
	bool reasons;	       /* that one counts by reason */
	uint64_t ticks, idle_ticks;
	struct kvm_counts counts;
	struct threads threads;
	struct traced *traced; /* NULL: the window is not traced */
};

/* Starts the VM, after what serves its devices, and waits until its agent is ready: *facts is what that said of
 * its machine. False: the VM is gone; guest_lost() says why. */
bool guest_start(const struct config *config, struct message *facts);
/* Gives its agent the lines of the launch. False: as above. */
bool guest_ask(const char *lines);
/* Carries out an order. `measured` is filled by PHASE_MEASURE. False: as above. */
bool guest_do(const struct order *order, struct outcome *outcome, struct measured *measured);
/* Its process; 0: none. */
pid_t guest_process(void);
/* Why the VM is gone, or NULL. */
const char *guest_lost(void);
/* Powers it off. */
void guest_stop(void);
