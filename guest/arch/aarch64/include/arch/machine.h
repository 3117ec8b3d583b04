/* What the files of arch/aarch64 share about the machine as a whole. */
#ifndef MACHINE_H
#define MACHINE_H

#include "guest/core/guest_arch.h"
#include "common/tree.h"

const struct tree *machine_tree(void);

/* Puts the boot protocol's words where core/ wants them. Returns NULL, or what is wrong. */
const char *boot_read(struct tree *tree);

/* The tables that the MMU starts with; boot.S calls it with the MMU off. */
void boot_map(uint64_t tree);

void console_init(const struct tree *tree);

/* The interrupt controller: finds out which, and switches it on for the first CPU. Returns NULL, or
 * why it cannot be used. */
const char *gic_init(const struct tree *tree);
/* ... and for each other one, on it. False: it has no redistributor. */
bool gic_enable(void);
/* Lets one of the interrupts that this CPU has of its own come, or no more. False: there is no controller. */
bool gic_own_interrupt(unsigned intid, bool on);
/* "gicv2", "gicv3", "gicv3-its", "none" */
const char *gic_name(void);

/* Arm DEN 0022, by the tree's conduit. Returns PSCI's status, negative for an error. */
int64_t psci_cpu_on(uint64_t id, uint64_t entry, uint64_t context);

/* Halts this CPU for ever. */
_Noreturn void stand_still(void);

#endif
