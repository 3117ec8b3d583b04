/* What the files of arch/riscv64 share about the machine. */
#ifndef MACHINE_H
#define MACHINE_H

#include "guest/core/guest_arch.h"
#include "common/tree.h"
#include "common/harts.h"
#include <arch/page_entry.h>

const struct tree *machine_tree(void);
const struct harts *machine_harts(void);

/* The end of the 1:1 mapping: one top-level entry, or Sv39's lower half. Memory beyond is not mapped. */
#define MAPPED_END (TOP_SHIFT == TOP_SHIFT_SV48 ? 512 * GIB : 256 * GIB)

/* From boot.S: the address of the device tree, and the first hart's number. */
extern uint64_t boot_tree, boot_hart;

/* Fills boot_info and *tree from the boot protocol's information. Returns NULL, or what is wrong. */
const char *boot_read(struct tree *tree);

/* Creates the initial page tables and turns paging on, if the CPU has a mode that the guest knows; boot.S calls it with
 * paging off. */
void boot_map(void);

void console_init(const struct tree *tree);

/* Sets up this CPU's interrupts: those of other CPUs, and its IMSIC's if there is one. */
void interrupts_enable(void);
/* "aia", "plic", "none" */
const char *controller_name(void);

/* Halts this CPU forever. */
_Noreturn void stand_still(void);

#endif
