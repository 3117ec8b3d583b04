/* The device tree of a VM (Devicetree Specification 0.4). Pure. */
#ifndef GUEST_TREE_H
#define GUEST_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/virt_tree.h"
#include "core/config.h"

/* Addresses and interrupts of a VM's devices, the same for each VM. */
#define GUEST_GICD	  0x08000000ull
#define GUEST_GICR	  0x080a0000ull
#define GUEST_UART	  0x09000000ull
#define GUEST_UART_INTID  33
#define GUEST_UART2	  0x09040000ull /* output is discarded */
#define GUEST_UART2_INTID 34
#define GUEST_TEST	  0x0a000000ull
#define GUEST_TEST_BYTES  0x1000

/* Offsets of the test device's registers. */
#define TEST_SCRATCH  0x0 /* holds 64 bits */
#define TEST_DOORBELL 0x8 /* write only; docs/guest.md, the doorbell */

/* PPIs of the four non-secure timers, one bit each. */
#define TIMER_PPIS                                                                                 \
	(1u << PPI_TIMER_PHYSICAL | 1u << PPI_TIMER_HYPERVISOR_VIRTUAL | 1u << PPI_TIMER_VIRTUAL | \
	 1u << PPI_TIMER_HYPERVISOR)

struct guest_machine {
	unsigned cpus;
	struct memory_range ram, pmem;	     /* guest-physical; pmem.start 0: none */
	const struct memory_range *ramdisks; /* MAX_RAMDISKS; start 0: none */
	uint64_t redistributor_bytes;	     /* of all vCPUs */
	const char *bootargs;
	bool hypervisor; /* at virtual EL2: ramdisks are modules (config.h), PSCI is by SMC */
};

/* Writes the tree. Returns its size in bytes, or 0 if it is larger than `room`. */
uint32_t guest_tree_write(const struct guest_machine *machine, uint8_t *to, uint32_t room);

#endif
