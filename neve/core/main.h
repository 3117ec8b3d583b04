/* What the first steps (machine/) call, and what they supply. */
#ifndef MAIN_H
#define MAIN_H

#include <stdint.h>

#include "common/fdt.h"

struct cpu;
struct tree;

#define MAIN_STACK_BYTES 32768 /* two records and their counts, and some */

/* The hypervisor's image, in pages of 4 KiB: code, constants, data (image.ld). */
extern char image_start[], image_end[], code_start[], code_end[], data_start[];

/* On the first CPU, with translation on. `wrong`: what the reader of the tree found wrong, else NULL. */
_Noreturn void neve_main(const struct tree *tree, uint64_t tree_at, const char *wrong,
			 uint64_t own_id);

/* On the others, on their own stacks. */
_Noreturn void cpu_main(struct cpu *cpu);

#endif
