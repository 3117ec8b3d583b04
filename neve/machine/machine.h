/* The hypervisor's vectors, its own translation, and cache maintenance. */
#ifndef ARCH_MAIN_H
#define ARCH_MAIN_H

#include "common/tree.h"

/* EL2's vectors (exits/switch.S). */
extern char vectors[];

/* Builds the hypervisor's own translation tables (mmu.c). Runs with the MMU off. */
void map_ourselves(const struct tree *tree);

/* Cleans and invalidates the data caches for [from, from + bytes). */
void clean_and_drop(const void *from, uint64_t bytes);

#endif
