/* Entry points for the boot code (machine/), and symbols of image.ld. */
#ifndef MAIN_H
#define MAIN_H

#include <stdint.h>

#include "common/fdt.h"

struct cpu;
struct tree;

#define MAIN_STACK_BYTES 32768 /* two records with their counts, and a margin */

/* The hypervisor's image: code, constants, data, each aligned to 4 KiB (image.ld). */
extern char image_start[], image_end[], code_start[], code_end[], data_start[];

/* Runs on the first CPU with the MMU on. `wrong` is the error from reading the tree, or NULL. */
_Noreturn void neve_main(const struct tree *tree, uint64_t tree_at, const char *wrong,
			 uint64_t own_id);

/* Runs on the other CPUs, on their own stacks. */
_Noreturn void cpu_main(struct cpu *cpu);

#endif
