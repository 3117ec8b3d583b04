/* See ich.h. */
#include "gic/ich.h"

#include "machine/accessors.h"

unsigned list_count;
static unsigned of_group; /* ICH_AP<group>R<n>_EL2 that there are */

void interface_init(void)
{
	uint64_t type = READ(ICH_VTR_EL2);
	unsigned bits = (unsigned)(type >> ICH_VTR_PREBITS_SHIFT & 7) + 1; /* 12.4.1 */

	list_count = (unsigned)(type & ICH_VTR_LISTREGS) + 1;
	of_group = bits >= 7 ? 4 : bits >= 6 ? 2 : 1;
}

/* The rows of both groups follow each other. */
void interface_save_active(struct gic_interface *to)
{
	for (unsigned i = 0; i < of_group; i++) {
		to->active[i] = hardware_read(REG_ICH_AP0R0_EL2 + i);
		to->active[4 + i] = hardware_read(REG_ICH_AP1R0_EL2 + i);
	}
}

void interface_load_active(const struct gic_interface *from)
{
	for (unsigned i = 0; i < of_group; i++) {
		hardware_write(REG_ICH_AP0R0_EL2 + i, from->active[i]);
		hardware_write(REG_ICH_AP1R0_EL2 + i, from->active[4 + i]);
	}
}

void interface_save(struct gic_interface *to)
{
	to->control = READ(ICH_VMCR_EL2);
	interface_save_active(to);
}

void interface_load(const struct gic_interface *from)
{
	WRITE(ICH_VMCR_EL2, from->control);
	interface_load_active(from);
}
