/*
 * I/O latency (Dall et al. 2015, Table 1): what a guest and a device of its monitor say to each
 * other. The guest writes the address of a struct latency_page to LATENCY_AT behind the doorbell, with what
 * it wants in `command`, and the monitor answers before that write is done. A write of one byte to
 * LATENCY_KICK_AT behind the doorbell is the kick. docs/guest.md, vmm/latency/.
 */
#ifndef COMMON_LATENCY_PAGE_H
#define COMMON_LATENCY_PAGE_H

#include <stdint.h>

#define LATENCY_AT	8
#define LATENCY_KICK_AT 16

#define LATENCY_MAGIC 0x3154414cu /* "LAT1" */
#define LATENCY_PAGE  4096	  /* the page is aligned to so many bytes */

enum latency_command {
	LATENCY_STOP,
	LATENCY_CLOCK,	       /* stamps each time that `asked` changes */
	LATENCY_OUT_SPINNING,  /* a kick is an eventfd that a thread polls; it stamps */
	LATENCY_OUT_WOKEN,     /* ... at which a thread sleeps */
	LATENCY_OUT_USERSPACE, /* a kick is an exit to user space, which stamps */
	LATENCY_NOBODY, /* a kick is an eventfd that nobody reads; counted in `stamps` at the end */
	LATENCY_NOBODY_MEMORY,	/* ... of the kick at `memory_kick` */
	LATENCY_IN_THREAD,	/* a kick asks a thread to stamp and interrupt, at once */
	LATENCY_IN_THREAD_LATE, /* ... when the guest has halted */
	LATENCY_IN_USERSPACE,	/* a kick is an exit to user space, which stamps and interrupts */
	LATENCY_SWITCH, /* a kick interrupts another VM, which stamps and interrupts this one */
};

struct latency_page {
	/* Assembly knows the offsets of the first three. */
	volatile uint64_t stamps; /* how many were taken by the other side */
	volatile uint64_t stamp;  /* the last: its counter, the same as the guest's */
	volatile uint64_t asked;  /* LATENCY_CLOCK */
	uint32_t magic, command;
	/* How an interrupt reaches the guest: a message's address and data (x86), or the number of a shared
	 * interrupt (Arm; address 0). */
	uint64_t interrupt_address, interrupt_data;
	uint64_t memory_kick; /* by the monitor: an address that is a kick too; 0: none */
	uint32_t answered;    /* the monitor sets it to 1 */
	char why[92];	      /* by the monitor: why it can't; "": it does */
};

#endif
