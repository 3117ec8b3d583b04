/* What the first steps (start.c) leave for the rest. */
#ifndef ARCH_MAIN_H
#define ARCH_MAIN_H

#include "common/tree.h"

/* EL2's vectors (vm/switch.S). */
extern char vectors[];

/* The hypervisor's own translation (mmu.c): with the MMU off. */
void map_ourselves(const struct tree *tree);

/* Writes [from, from + bytes) to memory, and drops it from the caches. */
void clean_and_drop(const void *from, uint64_t bytes);

#endif
