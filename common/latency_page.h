/*
 * I/O latency (Dall et al. 2015, Table 1): the protocol between a guest and vmm's latency device. The guest
 * writes the address of a struct latency_page, with `command` set, to LATENCY_AT after the doorbell; the
 * monitor answers before that write completes. A one-byte write to LATENCY_KICK_AT after the doorbell is
 * the kick. docs/guest.md, vmm/latency/.
 */
#ifndef COMMON_LATENCY_PAGE_H
#define COMMON_LATENCY_PAGE_H

#include <stdint.h>

#define LATENCY_AT	8
#define LATENCY_KICK_AT 16

#define LATENCY_MAGIC 0x3154414cu /* "LAT1" */
#define LATENCY_PAGE  4096	  /* the page's alignment, bytes */

enum latency_command {
	LATENCY_STOP,
	LATENCY_CLOCK,	       /* stamps each time `asked` changes */
	LATENCY_OUT_SPINNING,  /* a kick is an eventfd that a thread polls; it stamps */
	LATENCY_OUT_WOKEN,     /* ... on which a thread sleeps */
	LATENCY_OUT_USERSPACE, /* a kick is an exit to user space, which stamps */
	LATENCY_NOBODY, /* a kick is an eventfd without a reader; counted in `stamps` at the end */
	LATENCY_NOBODY_MEMORY,	   /* ... and the kick is at `memory_kick` */
	LATENCY_NOBODY_ANY_LENGTH, /* ... and may have any length */
	LATENCY_IN_THREAD,	   /* a kick makes a thread stamp and interrupt at once */
	LATENCY_IN_THREAD_LATE,	   /* ... after the guest has halted */
	LATENCY_IN_USERSPACE, /* a kick is an exit to user space, which stamps and interrupts */
	LATENCY_SWITCH,	  /* a kick interrupts another VM, which stamps and interrupts this one */
	LATENCY_ASSIGNED, /* the VM's PCI device of the host raises event 0 of device 0 of the ITS */
};

struct latency_page {
	/* Assembly uses the offsets of the first three. */
	volatile uint64_t stamps; /* stamps taken by the other side so far */
	volatile uint64_t stamp;  /* the last one: its counter, which is also the guest's */
	volatile uint64_t asked;  /* LATENCY_CLOCK */
	uint32_t magic, command;
	/* The guest's interrupt: an MSI's address and data (x86), or 0 and the number of a shared interrupt
	 * (Arm). LATENCY_ASSIGNED: the monitor sets them, to the address of the device's registers, and to its PCI
	 * vendor with its PCI device in the upper half. */
	uint64_t interrupt_address, interrupt_data;
	uint64_t memory_kick; /* set by the monitor: a second kick address; 0: none */
	uint32_t answered;    /* set to 1 by the monitor */
	char why[92];	      /* set by the monitor: why it cannot; "": it can */
};

#endif
