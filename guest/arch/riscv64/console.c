/* The console. */
#include "guest/arch/riscv64/machine.h"

#define TICK_UNIT "time_ticks"
#include "guest/platform/tree_console.h"
