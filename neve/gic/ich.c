/* Saves and loads this CPU's ICH registers; see ich.h. */
#include "gic/ich.h"

#include "cpu/accessors.h"

unsigned ich_lr_count;
static unsigned of_group; /* number of ICH_AP<group>R<n>_EL2 per group */

void ich_init(void)
{
	uint64_t type = READ(ICH_VTR_EL2);
	unsigned bits = (unsigned)(type >> ICH_VTR_PREBITS_SHIFT & 7) + 1; /* 12.4.1 */

	ich_lr_count = (unsigned)(type & ICH_VTR_LISTREGS) + 1;
	of_group = bits >= 7 ? 4 : bits >= 6 ? 2 : 1;
}

/* The registers of a group are consecutive rows. */
void ich_save_active(struct ich_state *to)
{
	for (unsigned i = 0; i < of_group; i++) {
		to->active[i] = hardware_read(REG_ICH_AP0R0_EL2 + i);
		to->active[4 + i] = hardware_read(REG_ICH_AP1R0_EL2 + i);
	}
}

void ich_load_active(const struct ich_state *from)
{
	for (unsigned i = 0; i < of_group; i++) {
		hardware_write(REG_ICH_AP0R0_EL2 + i, from->active[i]);
		hardware_write(REG_ICH_AP1R0_EL2 + i, from->active[4 + i]);
	}
}

void ich_save(struct ich_state *to)
{
	to->control = READ(ICH_VMCR_EL2);
	ich_save_active(to);
}

void ich_load(const struct ich_state *from)
{
	WRITE(ICH_VMCR_EL2, from->control);
	ich_load_active(from);
}
