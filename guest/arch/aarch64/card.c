/* The network card 82574 of Intel, as far as it interrupts by a write of its registers (datasheet, section 10.2.4): ICR, the
 * causes of its interrupt; ICS, which sets causes; IMS, the mask. */
#include "guest/core/guest_arch.h"
#include "guest/core/smp.h"
#include <arch/timed_exits.h>

#define INTEL_82574 0x10d38086
#define ICR	    0xc0
#define ICS	    0xc8
#define IMS	    0xd0
#define A_CAUSE	    1 /* TXDW */

/* QEMU's card leaves at least 128 us between two interrupts, even if its register ITR asks for less. */
#define RESTS_PER_S 6000

const char *card_operand_fill(struct card_operand *operand, uint64_t registers, uint64_t pci_id)
{
	if (pci_id != INTEL_82574)
		return "the VM's PCI device is no Intel 82574: give assign= such a card (QEMU: e1000e)";
	*operand = (struct card_operand){ .clear = registers + ICR,
					  .set = registers + ICS,
					  .handled = &latency_handled,
					  .rest_ticks = arch_long_ticks() / RESTS_PER_S };
	mmio_write32(registers + ICR, A_CAUSE); /* as before each pass */
	mmio_write32(registers + IMS, A_CAUSE);
	return NULL;
}
