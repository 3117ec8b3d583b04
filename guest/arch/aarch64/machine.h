/* What the files of arch/aarch64 share about the machine. */
#ifndef MACHINE_H
#define MACHINE_H

#include "guest/core/guest_arch.h"
#include "common/tree.h"

const struct tree *machine_tree(void);

#define MAPPED_END (512 * GIB) /* one top-level entry; memory beyond is not mapped */

/* Fills boot_info and *tree from the boot protocol's information. Returns NULL, or what is wrong. */
const char *boot_read(struct tree *tree);

/* Creates the initial page tables; boot.S calls it with the MMU off. */
void boot_map(uint64_t tree);

void console_init(const struct tree *tree);

/* Detects the interrupt controller, and enables it for the first CPU. Returns NULL, or why it cannot be
 * used. */
const char *gic_init(const struct tree *tree);
/* ... and for each other CPU, called on it. False: no redistributor. */
bool gic_enable(void);
/* Enables or disables one of this CPU's private interrupts. False: no interrupt controller. */
bool gic_own_interrupt(unsigned intid, bool on);
/* "gicv2", "gicv3", "gicv3-its", "none" */
const char *gic_name(void);

/* PSCI's CPU_ON (Arm DEN 0022), by the tree's conduit. Returns PSCI's status, negative for an error. */
int64_t psci_cpu_on(uint64_t id, uint64_t entry, uint64_t context);

/* A call by the SMC calling convention (Arm DEN 0028), `instruction` "hvc #0" or "smc #0": function and arguments in the
 * register variables x0 to x3, which then have the results. */
#define CALL_BELOW(instruction)                                                                   \
	__asm__ volatile(instruction                                                              \
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)                                 \
			 :                                                                        \
			 : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", \
			   "x15", "x16", "x17", "memory")

/* Halts this CPU forever. */
_Noreturn void stand_still(void);

#endif
