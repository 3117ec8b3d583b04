/* The I/O latency device, behind the doorbell, for the guest's rows io-latency-* and vm-switch
 * (common/latency_page.h). The monitor proper only adds it; nothing is created and no thread runs before a
 * guest asks. */
#ifndef VMM_LATENCY_H
#define VMM_LATENCY_H

#include "common/latency_page.h"
#include "vmm/kvm_vm.h"

struct latency {
	struct vm *vm;
	struct latency_page *page; /* the guest's */
	uint64_t kick_at;	   /* port or address of the kick */
	enum space space;	   /* address space of the current command's kick, */
	uint64_t at;		   /* its address, */
	uint32_t bytes;		   /* and its length (latency_bind()) */
	enum latency_command command;
	int kick, interrupt; /* eventfds for the guest's kick and its interrupt; -1: none */
	uint32_t line;	     /* interrupt line of the latter */
	pthread_t thread;
	bool has_thread;
	uint64_t asked; /* LATENCY_CLOCK: last value answered */
	atomic_bool stop;
};

/* Binds the eventfd to writes of so many bytes to `address`, or unbinds it. 0 bytes: of any length, which KVM looks
 * for in a list of its own before it decodes the instruction, where the processor says the address (fast MMIO). */
bool latency_bind(struct vm *vm, enum space space, uint64_t address, uint32_t bytes, int event,
		  bool bind);
/* Makes the eventfd raise the line, or stops that. */
bool latency_raise(struct vm *vm, uint32_t line, int event, bool raise);
void latency_relax(void);

/* ---- other.c: the second machine of VM Switch ------------------------------------------------- */

/* A kick of the guest becomes an interrupt of the second machine, on the same CPU; that machine stamps,
 * interrupts the guest and halts. */
bool other_start(struct latency *latency);
void other_stop(struct latency *latency);

/* ---- A device of the host that the VM has (arch/aarch64/assigned.c) ---------------------------- */

#ifdef ARCH_ASSIGNED
/* Delivers its interrupt to the guest, until assigned_stop(); says in the page where the device is. */
bool assigned_start(struct latency_page *page);
void assigned_stop(void);

static inline bool is_assigned(enum latency_command command)
{
	return command == LATENCY_ASSIGNED;
}
#else
static inline bool assigned_start(struct latency_page *page)
{
	(void)page;
	return false;
}

static inline void assigned_stop(void)
{
}

static inline bool is_assigned(enum latency_command command)
{
	(void)command;
	return false;
}
#endif

/* ---- Per architecture: ARCH/latency.c ---------------------------------------------------------- */

/* The counter that the guest also reads. */
uint64_t latency_now(void);
/* Makes the guest's counter equal to latency_now(). Called by the vCPU's own thread, or before it runs. */
bool latency_one_clock(struct vcpu *vcpu);
/* Finds the line for the interrupt at `address` with `data` (struct latency_page). */
bool latency_route(struct vm *vm, uint64_t address, uint64_t data, uint32_t *line);

/* Addresses used by the second machine's program. */
struct other_places {
	uint64_t page, kick, interrupt_address, interrupt_data;
};
/* Loads the program. It kicks once when ready, and then once in each interrupt. */
bool other_boot(struct vm *other, struct other_places *places);

#endif
