/* Switches the timers of L1 and L2; see timers.h. */
#include "nested/timers.h"

#include "core/guest_tree.h"
#include "cpu/accessors.h"
#include "gic/gic.h"
#include "nested/nested.h"

/* The virtual INTIDs of the four timers, and the physical INTID of each while L2 or L1 runs. */
static const struct {
	uint8_t intid, in_vm, in_el2;
} places[] = { { PPI_TIMER_VIRTUAL, PPI_TIMER_VIRTUAL, PPI_TIMER_HYPERVISOR_VIRTUAL },
	       { PPI_TIMER_PHYSICAL, PPI_TIMER_PHYSICAL, PPI_TIMER_HYPERVISOR },
	       { PPI_TIMER_HYPERVISOR_VIRTUAL, PPI_TIMER_HYPERVISOR_VIRTUAL, PPI_TIMER_VIRTUAL },
	       { PPI_TIMER_HYPERVISOR, PPI_TIMER_HYPERVISOR, PPI_TIMER_PHYSICAL } };
#define PLACES (sizeof(places) / sizeof(places[0]))

/* Is L2's timer state in the page while L1 runs? L1's accesses to it do not reach the hardware: FEAT_NV2
 * redirects them, and a VHE hypervisor's names for them trap. */
static bool keeps(const struct vcpu *vcpu)
{
	return is_vhe(vcpu) || mechanism(vcpu) == MECHANISM_NV2;
}

/* ---- State ---------------------------------------------------------------------------------- */

#define SAVE(nested, virtual, physical, zero)                               \
	do {                                                                \
		SLOT(nested, virtual##_CTL_##zero) = READ(CNTV_CTL_EL0);    \
		SLOT(nested, virtual##_CVAL_##zero) = READ(CNTV_CVAL_EL0);  \
		SLOT(nested, physical##_CTL_##zero) = READ(CNTP_CTL_EL0);   \
		SLOT(nested, physical##_CVAL_##zero) = READ(CNTP_CVAL_EL0); \
	} while (0)
#define LOAD(nested, virtual, physical, zero)                               \
	do {                                                                \
		WRITE(CNTV_CVAL_EL0, SLOT(nested, virtual##_CVAL_##zero));  \
		WRITE(CNTV_CTL_EL0, SLOT(nested, virtual##_CTL_##zero));    \
		WRITE(CNTP_CVAL_EL0, SLOT(nested, physical##_CVAL_##zero)); \
		WRITE(CNTP_CTL_EL0, SLOT(nested, physical##_CTL_##zero));   \
	} while (0)

/* Loads the timers of the one that does not run. CNTHV has no offset. */
static void load_others(struct nested *nested, uint64_t virtual_control, uint64_t virtual_value,
			uint64_t physical_control, uint64_t physical_value)
{
	bool on = (virtual_control | physical_control) & CNT_CTL_ENABLE;

	if (!on && !nested->others_on)
		return;
	nested->others_on = on;
	WRITE(CNTHV_CVAL_EL2, virtual_value);
	WRITE(CNTHV_CTL_EL2, virtual_control);
	WRITE(CNTHP_CVAL_EL2, physical_value);
	WRITE(CNTHP_CTL_EL2, physical_control);
}

/* Loads L2's timers while L1 runs. */
static void load_vms(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;

	if (vcpu->vm->arch.timers_swap)
		load_others(nested, SLOT(nested, CNTV_CTL_EL0),
			    SLOT(nested, CNTV_CVAL_EL0) + SLOT(nested, CNTVOFF_EL2),
			    SLOT(nested, CNTP_CTL_EL0), SLOT(nested, CNTP_CVAL_EL0));
	else
		LOAD(nested, CNTV, CNTP, EL0);
}

/* ---- Interrupts ----------------------------------------------------------------------------- */

/* A physical interrupt that is active until the guest ends its virtual one moves with its timer. */
static void move_interrupts(struct vcpu *vcpu, bool to_el2)
{
	struct vgic *vgic = &vcpu->vm->arch.vgic;
	uint32_t active = 0;

	for (unsigned i = 0; i < PLACES; i++)
		active |= vgic->cpus[vcpu->number].own[places[i].intid].physical;
	if (!active)
		return;
	lock_take(&vcpu->vm->lock);
	if (!vcpu->arch.nested.lent) {
		gic_read_lists(vcpu);
		vgic_save(vgic, vcpu->number, &vcpu->arch.lists);
		vcpu->attention = true;
	}
	for (unsigned i = 0; i < PLACES; i++) {
		struct vgic_irq *irq = &vgic->cpus[vcpu->number].own[places[i].intid];

		if (!irq->physical)
			continue;
		irq->physical = to_el2 ? places[i].in_el2 : places[i].in_vm;
		active |= 1u << irq->physical;
	}
	lock_release(&vcpu->vm->lock);
	gic_set_active(vcpu->cpu, active & TIMER_PPIS, TIMER_PPIS & ~active);
}

unsigned timers_interrupt(struct vcpu *vcpu, unsigned physical)
{
	const struct nested *nested = &vcpu->arch.nested;
	uint64_t now = READ_REGISTER(cntpct_el0), control, value;
	unsigned intid = physical;

	if (!is_nested(vcpu) || !nested->in_el2 || !keeps(vcpu))
		return physical;
	for (unsigned i = 0; vcpu->vm->arch.timers_swap && i < PLACES; i++)
		if (places[i].in_el2 == physical)
			intid = places[i].intid;
	if (intid != PPI_TIMER_VIRTUAL && intid != PPI_TIMER_PHYSICAL)
		return intid;
	control = SLOT(nested, CNTP_CTL_EL0);
	value = SLOT(nested, CNTP_CVAL_EL0);
	if (intid == PPI_TIMER_VIRTUAL) {
		control = SLOT(nested, CNTV_CTL_EL0);
		value = SLOT(nested, CNTV_CVAL_EL0) + SLOT(nested, CNTVOFF_EL2);
	}
	if ((control & (CNT_CTL_ENABLE | CNT_CTL_IMASK)) == CNT_CTL_ENABLE && now >= value)
		return intid;
	load_vms(vcpu);
	return 0;
}

/* ---- Worlds --------------------------------------------------------------------------------- */

void timers_to_l1(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;

	if (!keeps(vcpu))
		return;
	SAVE(nested, CNTV, CNTP, EL0);
	if (!vcpu->vm->arch.timers_swap)
		return;
	load_vms(vcpu);
	LOAD(nested, CNTHV, CNTHP, EL2);
	move_interrupts(vcpu, true);
}

void timers_to_l2(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;

	if (!keeps(vcpu))
		return;
	if (vcpu->vm->arch.timers_swap) {
		SAVE(nested, CNTHV, CNTHP, EL2);
		load_others(nested, SLOT(nested, CNTHV_CTL_EL2), SLOT(nested, CNTHV_CVAL_EL2),
			    SLOT(nested, CNTHP_CTL_EL2), SLOT(nested, CNTHP_CVAL_EL2));
		move_interrupts(vcpu, false);
	}
	LOAD(nested, CNTV, CNTP, EL0);
}
