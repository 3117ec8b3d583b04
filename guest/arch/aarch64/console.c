/* The console. */
#include "guest/arch/aarch64/machine.h"

#define TICK_UNIT "cntvct_ticks"
#include "guest/platform/tree_console.h"
