/* Debug registers that are chosen at run time, for a guest hypervisor whose accesses to MDSCR_EL1 we trap:
 * MDCR_EL2.TDA traps all of them. They have no copy for EL2, so L1's are the hardware's. */
#ifndef DEBUG_H
#define DEBUG_H

#include <stdint.h>

/* Accesses a breakpoint's or watchpoint's register; the others, of a debugger that there is not, read as zero
 * and ignore writes. */
uint64_t debug_read(uint32_t encoding);
void debug_write(uint32_t encoding, uint64_t value);

#endif
