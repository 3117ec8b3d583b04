/* Emulation and reset of system registers, by the table in cpu/registers.h. */
#ifndef SYSREG_H
#define SYSREG_H

#include "vm/vm.h"

/* Emulates a trapped access (ESR_EL2 of EC 0x18). Returns false if the register is undefined in a VM. */
bool sysreg_access(struct vcpu *vcpu, uint64_t esr);

/* Sets all registers of class CONTEXT to their reset values. */
void sysreg_reset(void);

#endif
