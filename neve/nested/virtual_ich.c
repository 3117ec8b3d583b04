/* List registers of a guest hypervisor; see virtual_ich.h. Pure. */
#include "nested/virtual_ich.h"

uint64_t virtual_ich_eisr(const struct virtual_ich *interface)
{
	uint64_t ended = 0;

	for (unsigned i = 0; i < interface->count; i++)
		if (!(interface->lr[i] & (ICH_LR_STATE | ICH_LR_HW)) &&
		    interface->lr[i] & ICH_LR_EOI)
			ended |= 1ull << i;
	return ended;
}

uint64_t virtual_ich_elrsr(const struct virtual_ich *interface)
{
	uint64_t empty = 0;

	for (unsigned i = 0; i < interface->count; i++)
		if (!(interface->lr[i] & ICH_LR_STATE) &&
		    (interface->lr[i] & ICH_LR_HW || !(interface->lr[i] & ICH_LR_EOI)))
			empty |= 1ull << i;
	return empty;
}

uint64_t virtual_ich_misr(const struct virtual_ich *interface)
{
	uint64_t misr = virtual_ich_eisr(interface) ? ICH_MISR_EOI : 0, hcr = interface->hcr;
	unsigned valid = 0, pending = 0;

	for (unsigned i = 0; i < interface->count; i++) {
		valid += !!(interface->lr[i] & ICH_LR_STATE);
		pending += (interface->lr[i] & ICH_LR_STATE) == ICH_LR_PENDING;
	}
	misr |= hcr & ICH_HCR_UIE && valid <= 1 ? ICH_MISR_U : 0;
	misr |= hcr & ICH_HCR_LRENPIE && hcr & ICH_HCR_EOICOUNT ? ICH_MISR_LRENP : 0;
	misr |= hcr & ICH_HCR_NPIE && !pending ? ICH_MISR_NP : 0;
	/* Group 0 enabled, disabled; group 1 enabled, disabled: requested by bits 4 to 7 of HCR, the
	 * state is in bits 0 and 1 of VMCR. */
	for (unsigned group = 0; group < 2; group++) {
		unsigned on = ICH_HCR_VGRP_SHIFT + 2 * group;
		bool is_on = interface->vmcr >> group & 1;

		misr |= hcr >> on & 1 && is_on ? 1ull << on : 0;
		misr |= hcr >> (on + 1) & 1 && !is_on ? 1ull << (on + 1) : 0;
	}
	return misr;
}

unsigned virtual_ich_pintid(uint64_t lr)
{
	return lr & ICH_LR_HW ? lr >> ICH_LR_PINTID_SHIFT & ICH_LR_PINTID : 0;
}

uint64_t virtual_ich_lr_for_hardware(uint64_t lr, bool backed)
{
	if (!(lr & ICH_LR_STATE) && !(lr & ICH_LR_HW))
		return lr & ICH_LR_EOI ? lr : 0;
	if (!(lr & ICH_LR_STATE))
		return 0;
	/* With HW, bit 41 is part of the physical INTID, and both states at once are not allowed. */
	if (lr & ICH_LR_HW) {
		lr &= ~(ICH_LR_RES0_HW | ICH_LR_RES0);
		if (!backed)
			lr &= ~(ICH_LR_HW | ICH_LR_PINTID << ICH_LR_PINTID_SHIFT);
		else if ((lr & ICH_LR_STATE) == ICH_LR_STATE)
			lr &= ~ICH_LR_PENDING;
	}
	return lr;
}

uint64_t virtual_ich_lr_from_hardware(uint64_t was, uint64_t lr)
{
	return (was & ~ICH_LR_STATE) | (lr & ICH_LR_STATE);
}
