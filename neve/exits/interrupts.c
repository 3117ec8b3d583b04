/*
 * Interrupts on a running CPU, from the machine to the guest (Arm IHI 0069).
 *
 * All physical interrupts go to EL2: the timers' PPIs, which are passed on to the guest and stay active until
 * it ends its virtual one; the maintenance interrupt of the virtual interface; our own SGI, which kicks a
 * CPU; the console's. What is then pending for the vCPU (vgic.c) goes into list registers before its guest
 * is entered. Guests send interrupts themselves, and access the registers of their GIC.
 *
 * This is one file so that the compiler can inline: the lab counts each instruction.
 */
#include "gic/gic.h"

#include "core/arch.h"
#include "core/console.h"
#include "core/guest_tree.h"
#include "cpu/accessors.h"
#include "gic/ich.h"
#include "nested/gic_switch.h"
#include "nested/nested.h"
#include "nested/timers.h"
#include "vm/vcpu.h"

unsigned gic_console_intid;

/* ---- List registers ------------------------------------------------------------------------- */

void gic_read_lists(struct vcpu *vcpu)
{
	struct vgic_lists *lists = &vcpu->arch.lists;

	if (is_kvm410(vcpu))
		return;
	for (unsigned i = 0; i < lists->count; i++)
		lists->lr[i] = lists->lr[i] ? ich_read_lr(i) : 0;
}

/* Is the line of that physical timer high? */
static bool timer_is_high(unsigned physical)
{
	uint64_t control = physical == PPI_TIMER_VIRTUAL	      ? READ(CNTV_CTL_EL0)
			   : physical == PPI_TIMER_PHYSICAL	      ? READ(CNTP_CTL_EL0)
			   : physical == PPI_TIMER_HYPERVISOR_VIRTUAL ? READ(CNTHV_CTL_EL2)
								      : READ(CNTHP_CTL_EL2);

	return (control & (CNT_CTL_ENABLE | CNT_CTL_IMASK | CNT_CTL_ISTATUS)) ==
	       (CNT_CTL_ENABLE | CNT_CTL_ISTATUS);
}

/* A timer's interrupt is level-triggered: it is not pending any more if the guest has switched the timer off before it
 * took the interrupt. After vgic_save(). kvm410's world switch has switched the hardware's timer off at that time, as Linux
 * 4.10 did, which does not look at the line either. */
static void drop_lowered(struct vcpu *vcpu)
{
	struct vgic_irq *own = vcpu->vm->arch.vgic.cpus[vcpu->number].own;

	if (is_kvm410(vcpu))
		return;
	for (unsigned intid = PPI_TIMER_HYPERVISOR; intid <= PPI_TIMER_PHYSICAL; intid++)
		if (own[intid].physical && !own[intid].active &&
		    !timer_is_high(own[intid].physical))
			own[intid].latch = false;
}

void gic_deactivate(uint64_t intid)
{
	WRITE_REGISTER(ICC_DIR_EL1, intid);
	instruction_barrier();
}

/* The caller holds the VM's lock. */
static void refill(struct vcpu *vcpu)
{
	struct vgic_lists *lists = &vcpu->arch.lists;
	uint64_t old[VGIC_MAX_LRS];
	struct vgic_loaded loaded;

	/* Take back the list registers. */
	gic_read_lists(vcpu);
	vgic_save(&vcpu->vm->arch.vgic, vcpu->number, lists);
	drop_lowered(vcpu);
	if (is_nested(vcpu))
		nested_gic_set_maintenance_line(vcpu);

	/* Choose the new contents. */
	for (unsigned i = 0; i < lists->count; i++)
		old[i] = lists->lr[i];
	loaded = vgic_load(&vcpu->vm->arch.vgic, vcpu->number, lists);

	/* Write only those in use before or now; kvm410's world switch writes them itself. */
	vcpu->arch.ich_hcr = ICH_HCR_EN | (loaded.more ? ICH_HCR_UIE : 0);
	for (unsigned i = 0; i < lists->count && !is_kvm410(vcpu); i++)
		if (old[i] || lists->lr[i])
			ich_write_lr(i, lists->lr[i]);
	if (!is_kvm410(vcpu))
		WRITE(ICH_HCR_EL2, vcpu->arch.ich_hcr);

	for (unsigned i = 0; i < VGIC_OWN; i++)
		if (loaded.deactivate >> i & 1)
			gic_deactivate(i);
}

void gic_refill(struct vcpu *vcpu)
{
	/* Cleared before we look: later changes set it again. */
	__atomic_store_n(&vcpu->attention, false, __ATOMIC_SEQ_CST);
	lock_take(&vcpu->vm->lock);
	refill(vcpu);
	lock_release(&vcpu->vm->lock);
}

void gic_reset(struct vcpu *vcpu)
{
	vcpu->arch.lists = (struct vgic_lists){ .count = ich_lr_count };
	for (unsigned i = 0; i < ich_lr_count; i++)
		ich_write_lr(i, 0);
	ich_load(&(struct ich_state){ .control = 0 });
	WRITE(ICH_HCR_EL2, ICH_HCR_EN);
	vcpu->attention = true;
}

/* ---- Physical interrupts -------------------------------------------------------------------- */

static void hand_on(struct vcpu *vcpu, unsigned physical)
{
	unsigned intid = timers_interrupt(vcpu, physical);

	if (!intid) {
		gic_deactivate(physical);
		return;
	}
	lock_take(&vcpu->vm->lock);
	gic_read_lists(vcpu);
	nested_gic_take_ended(vcpu, intid);
	if (vgic_physical(&vcpu->vm->arch.vgic, vcpu->number, &vcpu->arch.lists, intid, physical))
		vcpu->attention = true;
	lock_release(&vcpu->vm->lock);
}

/* Console input goes to the first VM. */
static void receive(void)
{
	for (int byte = console_receive(); byte >= 0; byte = console_receive())
		vm_receive(&vms[0], (uint8_t)byte);
}

/* Handles an acknowledged interrupt. Its priority is dropped here; when it is deactivated depends on the
 * interrupt. */
static void take_one(struct vcpu *vcpu, unsigned intid)
{
	WRITE_REGISTER(ICC_EOIR1_EL1, intid);
	switch (intid) {
	case SGI_KICK:
		vcpu_count(vcpu, CAUSE_IRQ_KICK);
		if (vcpu->arch.nested.page_stale)
			nested_renew_page(vcpu);
		gic_deactivate(intid);
		break;
	case PPI_TIMER_VIRTUAL:
	case PPI_TIMER_PHYSICAL:
	case PPI_TIMER_HYPERVISOR:
	case PPI_TIMER_HYPERVISOR_VIRTUAL:
		vcpu_count(vcpu, CAUSE_IRQ_TIMER);
		hand_on(vcpu, intid);
		break;
	case PPI_MAINTENANCE:
		vcpu_count(vcpu, CAUSE_IRQ_MAINTENANCE);
		/* Level-triggered: its cause must be cleared before it is deactivated. A nested VM's is
		 * for L1. */
		if (vcpu->arch.nested.lent) {
			nested_gic_take_maintenance(vcpu);
		} else {
			gic_refill(vcpu);
			gic_deactivate(intid);
		}
		break;
	default:
		vcpu_count(vcpu, intid == gic_console_intid ? CAUSE_IRQ_UART : CAUSE_IRQ_OTHER);
		if (intid == gic_console_intid)
			receive();
		gic_deactivate(intid);
		break;
	}
}

#define ACKNOWLEDGED (1u << 31)

void gic_acknowledge(struct vcpu *vcpu)
{
	unsigned intid = (unsigned)(READ_REGISTER(ICC_IAR1_EL1) & INTID_MASK);

	if (intid < INTID_SPECIAL)
		vcpu->arch.acknowledged = intid | ACKNOWLEDGED;
}

void arch_take_interrupts(struct vcpu *vcpu)
{
	unsigned first = vcpu->arch.acknowledged;

	vcpu->arch.acknowledged = 0;
	if (first)
		take_one(vcpu, first & ~ACKNOWLEDGED);
	for (;;) {
		uint64_t intid = READ_REGISTER(ICC_IAR1_EL1) & INTID_MASK;

		if (intid >= INTID_SPECIAL)
			return;
		take_one(vcpu, (unsigned)intid);
	}
}

/* In ICC_SGI1R_EL1, affinity 0 is a bit of a 16-bit target list, and RS the number of that list. */
void arch_kick(const struct cpu *cpu)
{
	uint64_t id = cpu->id;

	data_barrier();
	WRITE(ICC_SGI1R_EL1,
	      1ull << (id & 15) | (id >> 4 & 15) << SGI_RS_SHIFT |
		      (id >> 8 & 0xff) << SGI_AFF1_SHIFT | (id >> 16 & 0xff) << SGI_AFF2_SHIFT |
		      (id >> 32 & 0xff) << SGI_AFF3_SHIFT | (uint64_t)SGI_KICK << SGI_INTID);
	instruction_barrier();
}

/* ---- Accesses of guests and devices ---------------------------------------------------------- */

void gic_send_sgi(struct vcpu *vcpu, uint64_t value, bool group1)
{
	uint32_t mask;

	lock_take(&vcpu->vm->lock);
	mask = vgic_send_sgi(&vcpu->vm->arch.vgic, vcpu->number, value, group1);
	lock_release(&vcpu->vm->lock);
	vcpu_notify(vcpu->vm, mask, vcpu);
}

void arch_set_line(struct vm *vm, const struct vcpu *self, unsigned intid, bool high)
{
	vcpu_notify(vm, vgic_set_line(&vm->arch.vgic, intid, high), self);
}

/* The pending and active state of this vCPU's interrupts is in its list registers. An access that depends
 * on it takes them back first; they are filled again before the guest is entered. The caller holds the
 * VM's lock. */
static void controller_row(struct vcpu *vcpu, struct access *access,
			   uint32_t (*registers)(struct vgic *, unsigned, struct access *))
{
	struct vgic *vgic = &vcpu->vm->arch.vgic;
	uint32_t mask;

	if (access->write || vgic_says_state(access->offset)) {
		gic_read_lists(vcpu);
		vgic_save(vgic, vcpu->number, &vcpu->arch.lists);
		drop_lowered(vcpu);
		vcpu->attention = true;
	}
	mask = registers(vgic, vcpu->number, access);
	vcpu_notify(vcpu->vm, mask, vcpu);
}

static void distributor_row(struct vcpu *vcpu, void *context, struct access *access)
{
	(void)context;
	controller_row(vcpu, access, vgic_distributor);
}

static void redistributors_row(struct vcpu *vcpu, void *context, struct access *access)
{
	(void)context;
	controller_row(vcpu, access, vgic_redistributors);
}

bool gic_add_rows(struct vm *vm)
{
	const struct device rows[] = { { "gicd", GUEST_GICD, VGIC_DISTRIBUTOR_BYTES,
					 CAUSE_GICD_READ, distributor_row, NULL },
				       { "gicr", GUEST_GICR,
					 (uint64_t)vm->vcpu_count * VGIC_REDISTRIBUTOR_BYTES,
					 CAUSE_GICR_READ, redistributors_row, NULL } };

	return devices_add(&vm->devices, &rows[0]) && devices_add(&vm->devices, &rows[1]);
}
