/* What the files of arch/riscv64 share about the machine. */
#ifndef MACHINE_H
#define MACHINE_H

#include "guest/core/guest_arch.h"
#include "common/tree.h"
#include "common/harts.h"

const struct tree *machine_tree(void);
const struct harts *machine_harts(void);

/* From boot.S: the address of the device tree, and the first hart's number. */
extern uint64_t boot_tree, boot_hart;

/* Fills boot_info and *tree from the boot protocol's information. Returns NULL, or what is wrong. */
const char *boot_read(struct tree *tree);

/* Creates the initial page tables. Returns the value for satp; boot.S calls it with paging off. */
uint64_t boot_map(void);

void console_init(const struct tree *tree);

/* Sets up this CPU's interrupts: those of other CPUs, and its IMSIC's if there is one. */
void interrupts_enable(void);
/* "aia", "plic", "none" */
const char *controller_name(void);

/* Halts this CPU forever. */
_Noreturn void stand_still(void);

#endif
