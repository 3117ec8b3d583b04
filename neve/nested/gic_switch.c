/* The virtual interface between a guest hypervisor and its VM: while the nested VM runs, the hardware's is what
 * the hypervisor's ICH registers say; see nested.h. */
#include "core/guest_tree.h"
#include "gic/gic.h"
#include "gic/ich.h"
#include "machine/accessors.h"
#include "nested/nested.h"
#include "nested/virtual_ich.h"

#define NESTED_LR(nested, n)	 ((nested)->page[(OFFSET_ICH_LR0_EL2 + 8 * (n)) / 8])
#define NESTED_ACTIVE(nested, n) ((nested)->page[(OFFSET_ICH_AP0R0_EL2 + 8 * (n)) / 8])

static struct virtual_interface read_interface(const struct nested *nested, uint64_t *lr)
{
	for (unsigned i = 0; i < list_count; i++)
		lr[i] = NESTED_LR(nested, i);
	return (struct virtual_interface){ SLOT(nested, ICH_HCR_EL2), SLOT(nested, ICH_VMCR_EL2),
					   lr, list_count };
}

uint64_t gic_interface_state(const struct vcpu *vcpu, enum register_number number)
{
	uint64_t lr[VGIC_MAX_LRS];
	struct virtual_interface interface = read_interface(&vcpu->arch.nested, lr);

	return number == REG_ICH_MISR_EL2   ? virtual_maintenance(&interface)
	       : number == REG_ICH_EISR_EL2 ? virtual_ended(&interface)
					    : virtual_empty(&interface);
}

/* By nest=neve it reads copies. Of what is neither ICH_HCR_EL2 nor a list register they have only what ICH_VMCR_EL2
 * says of the groups. */
void gic_copy_state(struct vcpu *vcpu, enum register_number changed)
{
	struct nested *nested = &vcpu->arch.nested;
	struct virtual_interface interface;
	uint64_t lr[VGIC_MAX_LRS];

	if (mechanism(vcpu) != MECHANISM_NEVE ||
	    (changed > REG_ICH_HCR_EL2 && changed < REG_ICH_LR0_EL2 &&
	     !(SLOT(nested, ICH_HCR_EL2) & ICH_HCR_VGRP)))
		return;
	interface = read_interface(nested, lr);
	SLOT(nested, ICH_MISR_EL2) = virtual_maintenance(&interface);
	SLOT(nested, ICH_EISR_EL2) = virtual_ended(&interface);
	SLOT(nested, ICH_ELRSR_EL2) = virtual_empty(&interface);
}

void gic_set_maintenance_line(struct vcpu *vcpu)
{
	vgic_set_own_line(&vcpu->vm->arch.vgic, vcpu->number, PPI_MAINTENANCE,
			  SLOT(&vcpu->arch.nested, ICH_HCR_EL2) & ICH_HCR_EN &&
				  gic_interface_state(vcpu, REG_ICH_MISR_EL2));
}

/* The guest hypervisor's own list registers are empty from here on; what was in them counts as pending or
 * active again when it has the hardware back. */
void gic_lend(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;
	struct vgic *vgic = &vcpu->vm->arch.vgic;
	struct vgic_lists *lists = &vcpu->arch.lists;
	struct gic_interface interface = { .control = SLOT(nested, ICH_VMCR_EL2) };

	lock_take(&vcpu->vm->lock);
	gic_read_lists(vcpu);
	vgic_save(vgic, vcpu->number, lists);
	for (unsigned i = 0; i < lists->count; i++) {
		uint64_t lr = NESTED_LR(nested, i);
		bool backed = vgic_is_backed(vgic, vcpu->number, virtual_physical(lr));

		lr = virtual_for_hardware(lr, backed);
		if (lists->lr[i])
			vcpu->attention = nested->refill = true;
		if (lists->lr[i] || lr)
			list_write(i, lr);
		lists->lr[i] = 0;
		nested->lists[i] = lr;
	}
	lock_release(&vcpu->vm->lock);
	interface_save(&nested->own);
	for (unsigned i = 0; i < GIC_ACTIVE; i++)
		interface.active[i] = NESTED_ACTIVE(nested, i);
	interface_load(&interface);
	WRITE(ICH_HCR_EL2, SLOT(nested, ICH_HCR_EL2) & ICH_HCR_HEEDED);
	nested->lent = true;
}

/* One of the nested VM's list registers, if it was lent: what became of it. */
static void take_list(struct vcpu *vcpu, unsigned i)
{
	struct nested *nested = &vcpu->arch.nested;
	uint64_t was = NESTED_LR(nested, i), lr;

	if (!nested->lists[i])
		return;
	lr = list_read(i); /* which below a hypervisor may trap */
	list_write(i, 0);
	nested->lists[i] = 0;
	NESTED_LR(nested, i) = virtual_from_hardware(was, lr);
	if (virtual_physical(was) && !(lr & (ICH_LR_PENDING | ICH_LR_ACTIVE)))
		vgic_ended(&vcpu->vm->arch.vgic, vcpu->number, virtual_physical(was));
}

/* The nested VM may have ended it since: the next one must not wait for the hypervisor to hear of that. */
void gic_take_ended(struct vcpu *vcpu, unsigned intid)
{
	for (unsigned i = 0; vcpu->arch.nested.lent && i < list_count; i++)
		if (virtual_physical(NESTED_LR(&vcpu->arch.nested, i)) == intid &&
		    !(list_read(i) & (ICH_LR_PENDING | ICH_LR_ACTIVE)))
			take_list(vcpu, i);
}

void gic_take_back(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;
	struct gic_interface interface = { .control = 0 };

	lock_take(&vcpu->vm->lock);
	for (unsigned i = 0; i < list_count; i++)
		take_list(vcpu, i);
	SLOT(nested, ICH_HCR_EL2) = READ(ICH_HCR_EL2);
	interface_save(&interface);
	SLOT(nested, ICH_VMCR_EL2) = interface.control;
	for (unsigned i = 0; i < GIC_ACTIVE; i++)
		NESTED_ACTIVE(nested, i) = interface.active[i];
	gic_copy_state(vcpu, REG_ICH_LR0_EL2);
	if (gic_interface_state(vcpu, REG_ICH_MISR_EL2)) {
		gic_set_maintenance_line(vcpu);
		vcpu->attention = true;
	}
	lock_release(&vcpu->vm->lock);
	interface_load(&nested->own);
	WRITE(ICH_HCR_EL2, ICH_HCR_EN);
	if (nested->maintenance)
		gic_deactivate(PPI_MAINTENANCE);
	vcpu->attention |= nested->refill;
	nested->lent = nested->maintenance = nested->refill = false;
}

/* The nested VM's maintenance interrupt: its hypervisor's line is high as long as the hardware's is. */
void gic_take_maintenance(struct vcpu *vcpu)
{
	vcpu->arch.nested.maintenance = true;
	lock_take(&vcpu->vm->lock);
	vgic_set_own_line(&vcpu->vm->arch.vgic, vcpu->number, PPI_MAINTENANCE, true);
	lock_release(&vcpu->vm->lock);
	vcpu->attention = true;
}
