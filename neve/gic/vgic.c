/* The state of a VM's interrupts, and the contents of list registers; see vgic.h. Pure. */
#include "gic/vgic.h"

#include <stddef.h>

#include "cpu/bits.h"

#define SGIS 16

struct vgic_irq *vgic_irq(struct vgic *vgic, unsigned cpu, unsigned intid)
{
	if (intid < VGIC_OWN)
		return &vgic->cpus[cpu].own[intid];
	return intid < VGIC_INTIDS ? &vgic->shared[intid - VGIC_OWN] : NULL;
}

void vgic_init(struct vgic *vgic, unsigned cpu_count)
{
	*vgic = (struct vgic){ .cpu_count = cpu_count };
	for (unsigned i = 0; i < VGIC_INTIDS - VGIC_OWN; i++)
		vgic->shared[i].holder = VGIC_NOBODY;
	for (unsigned cpu = 0; cpu < VGIC_MAX_CPUS; cpu++) {
		struct vgic_cpu *one = &vgic->cpus[cpu];

		one->asleep = true;
		for (unsigned i = 0; i < VGIC_OWN; i++) {
			one->own[i].holder = VGIC_NOBODY;
			one->own[i].edge = i < SGIS;
		}
		for (unsigned i = 0; i < VGIC_MAX_LRS; i++)
			one->held[i] = VGIC_NOBODY;
	}
}

bool vgic_is_pending(const struct vgic_irq *irq)
{
	return irq->latch || (!irq->edge && irq->line);
}

unsigned vgic_concerns(const struct vgic_irq *irq)
{
	return irq->holder != VGIC_NOBODY ? irq->holder : irq->target;
}

/* ---- What makes interrupts pending ---------------------------------------------------------- */

static uint32_t send_to(struct vgic *vgic, unsigned cpu, unsigned intid, bool group1)
{
	struct vgic_irq *irq = &vgic->cpus[cpu].own[intid];

	/* The registers of group 0 send nothing to an interrupt of group 1. */
	if (irq->group1 && !group1)
		return 0;
	irq->latch = true;
	return 1u << cpu;
}

uint32_t vgic_send_sgi(struct vgic *vgic, unsigned cpu, uint64_t value, bool group1)
{
	unsigned intid = (unsigned)(value >> SGI_INTID & (SGIS - 1));
	uint32_t changed = 0;

	for (unsigned to = 0; to < vgic->cpu_count; to++) {
		bool wanted = value & SGI_IRM
				      ? to != cpu
				      : !(value & SGI_AFFINITIES) &&
						!(value >> SGI_RS_SHIFT & 15) && value >> to & 1;

		if (wanted)
			changed |= send_to(vgic, to, intid, group1);
	}
	return changed;
}

uint32_t vgic_set_line(struct vgic *vgic, unsigned intid, bool high)
{
	struct vgic_irq *irq = vgic_irq(vgic, 0, intid);

	if (intid < VGIC_OWN || !irq || irq->line == high)
		return 0;
	irq->line = high;
	irq->latch |= high && irq->edge;
	return 1u << vgic_concerns(irq);
}

/* ---- List registers ------------------------------------------------------------------------- */

/* Takes one list register back. */
static void save_one(struct vgic_irq *irq, unsigned cpu, uint64_t lr)
{
	bool pending = lr & ICH_LR_PENDING;

	irq->active = lr & ICH_LR_ACTIVE;
	/* Not acknowledged yet: pending as before. A new one is in the latch already. */
	irq->latch |= pending && irq->latched;
	irq->latched = false;
	if (lr & ICH_LR_HW && !pending && !irq->active)
		irq->physical = 0; /* the guest ended it, and with it the physical one */
	irq->holder = irq->active ? (uint8_t)cpu : VGIC_NOBODY;
}

void vgic_save(struct vgic *vgic, unsigned cpu, const struct vgic_lists *lists)
{
	for (unsigned i = 0; i < lists->count; i++) {
		uint8_t intid = vgic->cpus[cpu].held[i];

		vgic->cpus[cpu].held[i] = VGIC_NOBODY;
		if (intid != VGIC_NOBODY)
			save_one(vgic_irq(vgic, cpu, intid), cpu, lists->lr[i]);
	}
}

uint32_t vgic_physical(struct vgic *vgic, unsigned cpu, const struct vgic_lists *lists,
		       unsigned intid, unsigned physical)
{
	struct vgic_irq *irq = vgic_irq(vgic, cpu, intid);

	if (intid >= VGIC_OWN)
		return 0;
	vgic_save(vgic, cpu, lists);
	irq->physical = (uint8_t)physical;
	irq->latch = true;
	return 1u << cpu;
}

static bool group_on(const struct vgic *vgic, const struct vgic_irq *irq)
{
	return irq->group1 ? vgic->group1_on : vgic->group0_on;
}

static bool deliverable(const struct vgic *vgic, const struct vgic_irq *irq)
{
	return vgic_is_pending(irq) && irq->enabled && group_on(vgic, irq);
}

/* Does it belong into a list register of vCPU `cpu`? */
static bool wanted(const struct vgic *vgic, unsigned cpu, unsigned intid,
		   const struct vgic_irq *irq)
{
	if (intid >= VGIC_OWN && vgic_concerns(irq) != cpu)
		return false;
	return irq->active || deliverable(vgic, irq);
}

/* Does `one` go before `other`? Active ones first: the guest's EOI must find them in a list register. */
static bool before(const struct vgic_irq *one, const struct vgic_irq *other)
{
	if (one->active != other->active)
		return one->active;
	return one->priority < other->priority;
}

static uint64_t list_register(const struct vgic *vgic, unsigned intid, struct vgic_irq *irq,
			      unsigned cpu)
{
	bool pending = deliverable(vgic, irq);
	uint64_t lr = intid | (uint64_t)irq->priority << ICH_LR_PRIORITY_SHIFT;

	lr |= irq->group1 ? ICH_LR_GROUP1 : 0;
	if (irq->physical) {
		lr |= ICH_LR_HW | (uint64_t)irq->physical << ICH_LR_PINTID_SHIFT;
		pending = pending && !irq->active; /* both states at once are not allowed with HW */
	} else if (!irq->edge) {
		lr |= ICH_LR_EOI; /* its line may still be high at its end */
	}
	lr |= irq->active ? ICH_LR_ACTIVE : 0;
	lr |= pending ? ICH_LR_PENDING : 0;
	if (pending) {
		irq->latched = irq->latch;
		irq->latch = false;
	}
	irq->holder = (uint8_t)cpu;
	return lr;
}

void vgic_set_own_line(struct vgic *vgic, unsigned cpu, unsigned intid, bool high)
{
	vgic->cpus[cpu].own[intid].line = high;
}

bool vgic_interrupts(struct vgic *vgic, unsigned cpu, uint64_t vmcr)
{
	for (unsigned intid = 0; intid < VGIC_INTIDS; intid++) {
		const struct vgic_irq *irq = vgic_irq(vgic, cpu, intid);
		/* VENG1 is the bit above VENG0. */
		bool on = vmcr >> (irq->group1 ? 1 : 0) & ICH_VMCR_VENG0;

		if (wanted(vgic, cpu, intid, irq) && !irq->active && on &&
		    irq->priority < vmcr >> ICH_VMCR_VPMR_SHIFT)
			return true;
	}
	return false;
}

bool vgic_is_backed(struct vgic *vgic, unsigned cpu, unsigned intid)
{
	return intid && intid < VGIC_OWN && vgic->cpus[cpu].own[intid].physical;
}

void vgic_ended(struct vgic *vgic, unsigned cpu, unsigned intid)
{
	struct vgic_irq *irq = vgic_irq(vgic, cpu, intid);

	if (!irq || (irq->holder != cpu && irq->holder != VGIC_NOBODY))
		return;
	irq->active = false;
	irq->physical = 0;
	irq->holder = VGIC_NOBODY;
}

struct vgic_loaded vgic_load(struct vgic *vgic, unsigned cpu, struct vgic_lists *lists)
{
	struct vgic_loaded loaded = { 0 };
	uint8_t chosen[VGIC_MAX_LRS];

	for (unsigned intid = 0; intid < VGIC_INTIDS; intid++) {
		struct vgic_irq *irq = vgic_irq(vgic, cpu, intid);
		unsigned at = loaded.used;

		if (irq->physical && !irq->active && !vgic_is_pending(irq)) {
			/* The guest cleared it by a register: nothing would end the physical one. */
			loaded.deactivate |= 1u << irq->physical;
			irq->physical = 0;
		}
		if (!wanted(vgic, cpu, intid, irq))
			continue;
		/* Insertion sort; what does not fit waits. */
		while (at && before(irq, vgic_irq(vgic, cpu, chosen[at - 1])))
			at--;
		if (loaded.used < lists->count)
			loaded.used++;
		else
			loaded.more = true;
		for (unsigned i = loaded.used - 1; i > at; i--)
			chosen[i] = chosen[i - 1];
		if (at < loaded.used)
			chosen[at] = (uint8_t)intid;
	}
	for (unsigned i = 0; i < lists->count; i++) {
		bool used = i < loaded.used;

		vgic->cpus[cpu].held[i] = used ? chosen[i] : VGIC_NOBODY;
		lists->lr[i] =
			used ? list_register(vgic, chosen[i], vgic_irq(vgic, cpu, chosen[i]), cpu)
			     : 0;
	}
	return loaded;
}
