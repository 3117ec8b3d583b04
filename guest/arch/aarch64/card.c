/* The network card 82574 of Intel, as far as it interrupts by a write of its registers: sections 10.2.4.1 (ICR, the causes of
 * its interrupt), 10.2.4.3 (ICS, which sets causes) and 10.2.4.5 (IMS, the mask) of its datasheet. */
#include "guest/core/guest_arch.h"
#include "guest/core/smp.h"
#include <arch/timed_exits.h>

#define INTEL_82574 0x10d38086
#define ICR	    0xc0
#define ICS	    0xc8
#define IMS	    0xd0
#define A_CAUSE	    1 /* TXDW */

/* QEMU's card takes 128 us between two interrupts, whatever its register ITR says. */
#define RESTS_PER_S 6000

const char *card_operand_fill(struct card_operand *operand, uint64_t registers, uint64_t pci_id)
{
	if (pci_id != INTEL_82574)
		return "the device of the host that this VM has is no Intel 82574";
	*operand = (struct card_operand){ .clear = registers + ICR,
					  .set = registers + ICS,
					  .handled = &latency_handled,
					  .rest_ticks = arch_long_ticks() / RESTS_PER_S };
	mmio_write32(registers + IMS, A_CAUSE);
	return NULL;
}
