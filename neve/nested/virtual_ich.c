/* List registers of a guest hypervisor; see virtual_ich.h. Pure. */
#include "nested/virtual_ich.h"

#define STATE (LR_PENDING | LR_ACTIVE)

/* ICH_HCR_EL2 and ICH_MISR_EL2. */
#define HCR_LRENPIE   (1ull << 2)
#define HCR_NPIE      (1ull << 3)
#define HCR_EOI_COUNT 27
#define MISR_EOI      (1ull << 0)
#define MISR_U	      (1ull << 1)
#define MISR_LRENP    (1ull << 2)
#define MISR_NP	      (1ull << 3)

uint64_t virtual_ended(const struct virtual_interface *interface)
{
	uint64_t ended = 0;

	for (unsigned i = 0; i < interface->count; i++)
		if (!(interface->lr[i] & (STATE | LR_PHYSICAL)) && interface->lr[i] & LR_TELL_END)
			ended |= 1ull << i;
	return ended;
}

uint64_t virtual_empty(const struct virtual_interface *interface)
{
	uint64_t empty = 0;

	for (unsigned i = 0; i < interface->count; i++)
		if (!(interface->lr[i] & STATE) &&
		    (interface->lr[i] & LR_PHYSICAL || !(interface->lr[i] & LR_TELL_END)))
			empty |= 1ull << i;
	return empty;
}

uint64_t virtual_maintenance(const struct virtual_interface *interface)
{
	uint64_t misr = virtual_ended(interface) ? MISR_EOI : 0, hcr = interface->hcr;
	unsigned valid = 0, pending = 0;

	for (unsigned i = 0; i < interface->count; i++) {
		valid += !!(interface->lr[i] & STATE);
		pending += (interface->lr[i] & STATE) == LR_PENDING;
	}
	misr |= hcr & ICH_HCR_UNDERFLOW && valid <= 1 ? MISR_U : 0;
	misr |= hcr & HCR_LRENPIE && hcr >> HCR_EOI_COUNT & 31 ? MISR_LRENP : 0;
	misr |= hcr & HCR_NPIE && !pending ? MISR_NP : 0;
	/* Group 0 on, off; group 1 on, off: HCR's bits 4 to 7 ask, VMCR's bits 0 and 1 answer. */
	for (unsigned group = 0; group < 2; group++) {
		unsigned on = 4 + 2 * group;
		bool is_on = interface->vmcr >> group & 1;

		misr |= hcr >> on & 1 && is_on ? 1ull << on : 0;
		misr |= hcr >> (on + 1) & 1 && !is_on ? 1ull << (on + 1) : 0;
	}
	return misr;
}

unsigned virtual_physical(uint64_t lr)
{
	return lr & LR_PHYSICAL ? lr >> LR_PHYSICAL_INTID & 0x3ff : 0;
}

uint64_t virtual_for_hardware(uint64_t lr, bool backed)
{
	if (!(lr & STATE) && !(lr & LR_PHYSICAL))
		return lr & LR_TELL_END ? lr : 0;
	if (!(lr & STATE))
		return 0;
	/* With HW, bit 41 is part of the number; both states at once are not allowed. */
	if (lr & LR_PHYSICAL) {
		lr &= ~(7ull << 42 | 0x3ull << 58);
		if (!backed)
			lr &= ~(LR_PHYSICAL | 0x3ffull << LR_PHYSICAL_INTID);
		else if ((lr & STATE) == STATE)
			lr &= ~LR_PENDING;
	}
	return lr;
}

uint64_t virtual_from_hardware(uint64_t was, uint64_t lr)
{
	return (was & ~STATE) | (lr & STATE);
}
