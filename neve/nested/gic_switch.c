/* Switches the CPU's virtual GIC interface between L1 and L2; see gic_switch.h. */
#include "nested/gic_switch.h"

#include "core/guest_tree.h"
#include "cpu/accessors.h"
#include "gic/gic.h"
#include "gic/ich.h"
#include "nested/nested.h"
#include "nested/virtual_ich.h"

#define NESTED_LR(nested, n)	 ((nested)->page[(OFFSET_ICH_LR0_EL2 + 8 * (n)) / 8])
#define NESTED_ACTIVE(nested, n) ((nested)->page[(OFFSET_ICH_AP0R0_EL2 + 8 * (n)) / 8])

static struct virtual_ich read_interface(const struct nested *nested, uint64_t *lr)
{
	for (unsigned i = 0; i < ich_lr_count; i++)
		lr[i] = NESTED_LR(nested, i);
	return (struct virtual_ich){ SLOT(nested, ICH_HCR_EL2), SLOT(nested, ICH_VMCR_EL2), lr,
				     ich_lr_count };
}

uint64_t nested_ich_status(const struct vcpu *vcpu, enum register_number number)
{
	uint64_t lr[VGIC_MAX_LRS];
	struct virtual_ich interface = read_interface(&vcpu->arch.nested, lr);

	return number == REG_ICH_MISR_EL2   ? virtual_ich_misr(&interface)
	       : number == REG_ICH_EISR_EL2 ? virtual_ich_eisr(&interface)
					    : virtual_ich_elrsr(&interface);
}

/* With nest=neve L1 reads copies. They depend on ICH_HCR_EL2, the list registers and, only if L1 has set
 * VGrp bits in ICH_HCR_EL2, ICH_VMCR_EL2. */
void nested_ich_copy_status(struct vcpu *vcpu, enum register_number changed)
{
	struct nested *nested = &vcpu->arch.nested;
	struct virtual_ich interface;
	uint64_t lr[VGIC_MAX_LRS];

	if (mechanism(vcpu) != MECHANISM_NEVE ||
	    (changed > REG_ICH_HCR_EL2 && changed < REG_ICH_LR0_EL2 &&
	     !(SLOT(nested, ICH_HCR_EL2) & ICH_HCR_VGRP)))
		return;
	interface = read_interface(nested, lr);
	SLOT(nested, ICH_MISR_EL2) = virtual_ich_misr(&interface);
	SLOT(nested, ICH_EISR_EL2) = virtual_ich_eisr(&interface);
	SLOT(nested, ICH_ELRSR_EL2) = virtual_ich_elrsr(&interface);
}

void nested_gic_set_maintenance_line(struct vcpu *vcpu)
{
	vgic_set_own_line(&vcpu->vm->arch.vgic, vcpu->number, PPI_MAINTENANCE,
			  SLOT(&vcpu->arch.nested, ICH_HCR_EL2) & ICH_HCR_EN &&
				  nested_ich_status(vcpu, REG_ICH_MISR_EL2));
}

void nested_gic_lend(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;
	struct vgic *vgic = &vcpu->vm->arch.vgic;
	struct vgic_lists *lists = &vcpu->arch.lists;
	struct ich_state interface = { .control = SLOT(nested, ICH_VMCR_EL2) };

	/* Replaces L1's list registers by L2's. */
	lock_take(&vcpu->vm->lock);
	gic_read_lists(vcpu);
	vgic_save(vgic, vcpu->number, lists);
	for (unsigned i = 0; i < lists->count; i++) {
		uint64_t lr = NESTED_LR(nested, i);
		bool backed = vgic_is_backed(vgic, vcpu->number, virtual_ich_pintid(lr));

		lr = virtual_ich_lr_for_hardware(lr, backed);
		if (lists->lr[i])
			vcpu->attention = nested->refill = true;
		if (lists->lr[i] || lr)
			ich_write_lr(i, lr);
		lists->lr[i] = 0;
		nested->lists[i] = lr;
	}
	lock_release(&vcpu->vm->lock);

	/* The rest of the interface. */
	ich_save(&nested->own);
	for (unsigned i = 0; i < ICH_ACTIVE; i++)
		interface.active[i] = NESTED_ACTIVE(nested, i);
	ich_load(&interface);
	WRITE(ICH_HCR_EL2, SLOT(nested, ICH_HCR_EL2) & ICH_HCR_HEEDED);
	nested->lent = true;
}

/* Takes back one of L2's list registers, if it was lent. */
static void take_list(struct vcpu *vcpu, unsigned i)
{
	struct nested *nested = &vcpu->arch.nested;
	uint64_t was = NESTED_LR(nested, i), lr;

	if (!nested->lists[i])
		return;
	lr = ich_read_lr(i); /* traps if we run as a guest hypervisor */
	ich_write_lr(i, 0);
	nested->lists[i] = 0;
	NESTED_LR(nested, i) = virtual_ich_lr_from_hardware(was, lr);
	if (virtual_ich_pintid(was) && !(lr & (ICH_LR_PENDING | ICH_LR_ACTIVE)))
		vgic_ended(&vcpu->vm->arch.vgic, vcpu->number, virtual_ich_pintid(was));
}

/* The next interrupt must not wait until L1 sees the end of the previous one. */
void nested_gic_take_ended(struct vcpu *vcpu, unsigned intid)
{
	for (unsigned i = 0; vcpu->arch.nested.lent && i < ich_lr_count; i++)
		if (virtual_ich_pintid(NESTED_LR(&vcpu->arch.nested, i)) == intid &&
		    !(ich_read_lr(i) & (ICH_LR_PENDING | ICH_LR_ACTIVE)))
			take_list(vcpu, i);
}

void nested_gic_take_back(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;
	struct ich_state interface = { .control = 0 };

	/* Saves L2's list registers and interface in L1's registers. */
	lock_take(&vcpu->vm->lock);
	for (unsigned i = 0; i < ich_lr_count; i++)
		take_list(vcpu, i);
	SLOT(nested, ICH_HCR_EL2) = READ(ICH_HCR_EL2);
	ich_save(&interface);
	SLOT(nested, ICH_VMCR_EL2) = interface.control;
	for (unsigned i = 0; i < ICH_ACTIVE; i++)
		NESTED_ACTIVE(nested, i) = interface.active[i];
	nested_ich_copy_status(vcpu, REG_ICH_LR0_EL2);

	/* Does L1 get a maintenance interrupt? */
	if (nested_ich_status(vcpu, REG_ICH_MISR_EL2)) {
		nested_gic_set_maintenance_line(vcpu);
		vcpu->attention = true;
	}
	lock_release(&vcpu->vm->lock);

	/* Loads L1's own interface; its list registers are filled before it is entered. */
	ich_load(&nested->own);
	WRITE(ICH_HCR_EL2, ICH_HCR_EN);
	if (nested->maintenance)
		gic_deactivate(PPI_MAINTENANCE);
	vcpu->attention |= nested->refill;
	nested->lent = nested->maintenance = nested->refill = false;
}

void nested_gic_take_maintenance(struct vcpu *vcpu)
{
	vcpu->arch.nested.maintenance = true;
	lock_take(&vcpu->vm->lock);
	vgic_set_own_line(&vcpu->vm->arch.vgic, vcpu->number, PPI_MAINTENANCE, true);
	lock_release(&vcpu->vm->lock);
	vcpu->attention = true;
}
