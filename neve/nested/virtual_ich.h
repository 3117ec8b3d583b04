/* The hypervisor control interface of the GIC as a guest hypervisor has it (IHI 0069, 12.4): what its list
 * registers say, and what of them may go into the hardware's. Pure. */
#ifndef VIRTUAL_INTERFACE_H
#define VIRTUAL_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

#define LR_PENDING	  (1ull << 62)
#define LR_ACTIVE	  (1ull << 63)
#define LR_PHYSICAL	  (1ull << 61) /* HW */
#define LR_GROUP1	  (1ull << 60)
#define LR_PRIORITY	  48
#define LR_PHYSICAL_INTID 32
#define LR_TELL_END	  (1ull << 41) /* EOI: a maintenance interrupt when the guest ends it */

/* Bits of ICH_HCR_EL2. */
#define ICH_HCR_ON	  1ull
#define ICH_HCR_UNDERFLOW 2ull	  /* UIE: tell when one list register or none is in use */
#define ICH_HCR_GROUPS	  0xf0ull /* ... when a group is on or off, as ICH_VMCR_EL2 has it */
#define ICH_HCR_HEEDED	  (0xf80000ffull | 7ull << 10 | 3ull << 13)

struct virtual_interface {
	uint64_t hcr, vmcr;
	const uint64_t *lr;
	unsigned count;
};

/* ICH_EISR_EL2, ICH_ELRSR_EL2, ICH_MISR_EL2. The maintenance interrupt is there while the last is not 0 and
 * ICH_HCR_EL2.En is set. */
uint64_t virtual_ended(const struct virtual_interface *interface);
uint64_t virtual_empty(const struct virtual_interface *interface);
uint64_t virtual_maintenance(const struct virtual_interface *interface);

/* The physical INTID that ends with the list register's; 0: none (SGIs have none). */
unsigned virtual_physical(uint64_t lr);

/* A list register for the hardware. `backed`: a physical interrupt of the machine is active behind the one
 * that the guest hypervisor calls physical; if not, its end is only said. */
uint64_t virtual_for_hardware(uint64_t lr, bool backed);

/* ... and how the guest hypervisor finds it afterwards. */
uint64_t virtual_from_hardware(uint64_t was, uint64_t lr);

#endif
