/* The machine's free memory; main.c fills it. */
#ifndef MACHINE_MEMORY_H
#define MACHINE_MEMORY_H

#include "memory.h"

extern struct memory machine_memory;

#endif
