/* The experiments with I/O latency: a device behind the doorbell, for the guest's rows io-latency-* and
 * vm-switch (common/latency_page.h). Apart from the monitor proper, which only adds it: nothing is made
 * and no thread runs before a guest asks. */
#ifndef VMM_LATENCY_H
#define VMM_LATENCY_H

#include "common/latency_page.h"
#include "vmm/kvm_vm.h"

struct latency {
	struct vm *vm;
	struct latency_page *page; /* the guest's */
	uint64_t kick_at;	   /* port or address of the kick */
	enum space space;	   /* ... of the present command, */
	uint64_t at;		   /* and where */
	enum latency_command command;
	int kick, interrupt; /* eventfds, -1: none. A write of the guest; an interrupt of it */
	uint32_t line;	     /* by which the latter is raised */
	pthread_t thread;
	bool has_thread;
	uint64_t asked; /* LATENCY_CLOCK: answered so far */
	atomic_bool stop;
};

/* Binds the eventfd to byte writes to `address`, or frees it. */
bool latency_bind(struct vm *vm, enum space space, uint64_t address, int event, bool bind);
/* Has the eventfd raise the line, or no more. */
bool latency_raise(struct vm *vm, uint32_t line, int event, bool raise);
void latency_relax(void);

/* ---- other.c: the second machine of VM Switch ------------------------------------------------- */

/* A kick of the guest becomes an interrupt of the other machine, on the same CPU; that stamps, interrupts
 * the guest and halts. */
bool other_start(struct latency *latency);
void other_stop(struct latency *latency);

/* ---- What each architecture has: ARCH/latency.c ------------------------------------------------ */

/* The counter that the guest reads too. */
uint64_t latency_now(void);
/* Makes the guest's counter that one. The vCPU's own thread calls it, or nobody runs it. */
bool latency_one_clock(struct vcpu *vcpu);
/* The line that is the interrupt at `address` with `data` (struct latency_page). */
bool latency_route(struct vm *vm, uint64_t address, uint64_t data, uint32_t *line);

/* Where the other machine's program has things. */
struct other_places {
	uint64_t page, kick, interrupt_address, interrupt_data;
};
/* Loads it. It kicks once when it is ready, and from then on in its interrupt's handler. */
bool other_boot(struct vm *other, struct other_places *places);

#endif
