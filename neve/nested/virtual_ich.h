/* A guest hypervisor's (L1's) ICH_*_EL2 (IHI 0069, 12.4): the status of its list registers, and what of
 * them may go into the hardware's. Pure. */
#ifndef VIRTUAL_INTERFACE_H
#define VIRTUAL_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/bits.h"

/* Bits that a guest hypervisor may set in ICH_HCR_EL2. */
#define ICH_HCR_HEEDED                                                                           \
	(ICH_HCR_EN | ICH_HCR_UIE | ICH_HCR_LRENPIE | ICH_HCR_NPIE | ICH_HCR_VGRP | ICH_HCR_TC | \
	 ICH_HCR_TALL0 | ICH_HCR_TALL1 | ICH_HCR_TSEI | ICH_HCR_TDIR | ICH_HCR_EOICOUNT)

struct virtual_ich {
	uint64_t hcr, vmcr;
	const uint64_t *lr;
	unsigned count;
};

/* ICH_EISR_EL2, ICH_ELRSR_EL2, ICH_MISR_EL2. The maintenance interrupt is pending while ICH_MISR_EL2 is
 * not 0 and ICH_HCR_EL2.En is set. */
uint64_t virtual_ich_eisr(const struct virtual_ich *interface);
uint64_t virtual_ich_elrsr(const struct virtual_ich *interface);
uint64_t virtual_ich_misr(const struct virtual_ich *interface);

/* The physical INTID that ends with the list register's interrupt; 0: none, as for SGIs. */
unsigned virtual_ich_pintid(uint64_t lr);

/* A list register for the hardware. `backed`: a physical interrupt of the machine is active behind the
 * one that the guest hypervisor calls physical; if not, HW is cleared. */
uint64_t virtual_ich_lr_for_hardware(uint64_t lr, bool backed);

/* ... and its value for the guest hypervisor afterwards. */
uint64_t virtual_ich_lr_from_hardware(uint64_t was, uint64_t lr);

#endif
