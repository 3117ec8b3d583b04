/* System registers that trap, by the table in machine/registers.h. */
#ifndef SYSREG_H
#define SYSREG_H

#include "core/vm.h"

/* Answers a trapped access (ESR_EL2 of EC 0x18). False: the register is undefined in a VM. */
bool sysreg_access(struct vcpu *vcpu, uint64_t esr);

/* Sets all registers of class CONTEXT to their values at reset. */
void sysreg_reset(void);

#endif
