/*
 * The machine's GICv3 (Arm IHI 0069). Physical interrupts come to EL2, and are few: the timers' PPIs, which
 * are handed on to the guest and stay active until it ends its virtual one; the maintenance interrupt
 * of the virtual interface; our own SGI, which makes a CPU look up; the console's.
 * Called by vcpu.c and core/.
 */
#include "gic.h"

#include "accessors.h"
#include "arch.h"
#include "console.h"
#include "cpu.h"
#include "guest_tree.h"
#include "lists.h"
#include "main.h"
#include "nested.h"
#include "posih.h"
#include "vcpu.h"
#include "virtual_interface.h"

/* Of the distributor; GICR_... + GICR_SGI_FRAME has the same for one CPU. */
#define GICD_CTLR	0x000
#define GICD_IGROUPR	0x080
#define GICD_ISENABLER	0x100
#define GICD_ICENABLER	0x180
#define GICD_IPRIORITYR 0x400
#define GICD_IROUTER	0x6000
#define MPIDR_AFFINITY	0xff00ffffffull

#define GICR_TYPER     0x0008
#define GICR_WAKER     0x0014
#define GICR_SGI_FRAME 0x10000
#define GICR_BYTES     0x20000 /* and twice that with virtual LPIs */
#define TYPER_VLPIS    (1u << 1)
#define TYPER_LAST     (1u << 4)
#define WAKER_SLEEP    (1u << 1)
#define WAKER_ASLEEP   (1u << 2)

#define CTLR_PENDING  (1u << 31) /* RWP */
#define CTLR_AFFINITY (1u << 4)
#define CTLR_GROUPS   3u /* group 1, by either of its bits: which one depends on security */

#define SRE_USE	   1 /* system registers */
#define SRE_BELOW  8 /* ... at EL1 too */
#define CTLR_SPLIT 2 /* EOImode: the end drops the priority, and ICC_DIR deactivates */

#define ALL_PRIORITIES	  0xf0
#define MIDDLE_PRIORITIES 0xa0a0a0a0u

#define VTR_LISTS      0x1f /* list registers less one */
#define VTR_PREEMPTION 26   /* three bits: bits of preemption less one */

#define SGI_KICK	0
#define PPI_MAINTENANCE 25
#define INTID_MASK	0xffffff
#define INTID_SPECIAL	1020

#define MAX_POLLS 1000000

static unsigned list_registers;
static unsigned active_registers; /* ICH_AP0R<n>_EL2 that there are */
static unsigned console_intid;	  /* 0: it does not interrupt */

/* ---- List registers ------------------------------------------------------------------------- */

/* Only those in use. Linux' way has read them already. */
static void read_lists(struct vcpu *vcpu)
{
	struct vgic_lists *lists = &vcpu->arch.lists;

	if (is_kvm_like(vcpu))
		return;
	for (unsigned i = 0; i < lists->count; i++)
		lists->lr[i] = lists->lr[i] ? list_read(i) : 0;
}

static void deactivate(uint64_t intid)
{
	WRITE_REGISTER(ICC_DIR_EL1, intid);
	instruction_barrier();
}

static void set_maintenance_line(struct vcpu *vcpu)
{
	vgic_set_own_line(&vcpu->vm->arch.vgic, vcpu->number, PPI_MAINTENANCE,
			  gic_interface_state(vcpu, REG_ICH_MISR_EL2));
}

/* Under the VM's lock. */
static void refill(struct vcpu *vcpu)
{
	struct vgic_lists *lists = &vcpu->arch.lists;
	uint64_t old[VGIC_MAX_LRS];
	struct vgic_loaded loaded;

	read_lists(vcpu);
	vgic_save(&vcpu->vm->arch.vgic, vcpu->number, lists);
	if (is_nested(vcpu))
		set_maintenance_line(vcpu);
	for (unsigned i = 0; i < lists->count; i++)
		old[i] = lists->lr[i];
	loaded = vgic_load(&vcpu->vm->arch.vgic, vcpu->number, lists);
	vcpu->arch.interface_on = ICH_HCR_ON | (loaded.more ? ICH_HCR_UNDERFLOW : 0);
	for (unsigned i = 0; i < lists->count && !is_kvm_like(vcpu); i++)
		if (old[i] || lists->lr[i])
			list_write(i, lists->lr[i]);
	if (!is_kvm_like(vcpu))
		WRITE(ICH_HCR_EL2, vcpu->arch.interface_on);
	for (unsigned i = 0; i < VGIC_OWN; i++)
		if (loaded.deactivate >> i & 1)
			deactivate(i);
}

void gic_refill(struct vcpu *vcpu)
{
	/* Before we look: what changes from here on sets it again. */
	__atomic_store_n(&vcpu->attention, false, __ATOMIC_SEQ_CST);
	lock_take(&vcpu->vm->lock);
	refill(vcpu);
	lock_release(&vcpu->vm->lock);
}

/* ---- ICH_VMCR_EL2, and which priorities are active ------------------------------------------ */

#define ACTIVE(ROW) \
	ROW(0)      \
	ROW(1)      \
	ROW(2)      \
	ROW(3)

static void save_active(struct gic_interface *to)
{
#define ROW(n)                                              \
	if (n < active_registers) {                         \
		to->active[0][n] = READ(ICH_AP0R##n##_EL2); \
		to->active[1][n] = READ(ICH_AP1R##n##_EL2); \
	}
	ACTIVE(ROW)
#undef ROW
}

static void load_active(const struct gic_interface *from)
{
#define ROW(n)                                                \
	if (n < active_registers) {                           \
		WRITE(ICH_AP0R##n##_EL2, from->active[0][n]); \
		WRITE(ICH_AP1R##n##_EL2, from->active[1][n]); \
	}
	ACTIVE(ROW)
#undef ROW
}

static void save_interface(struct gic_interface *to)
{
	to->control = READ(ICH_VMCR_EL2);
	save_active(to);
}

static void load_interface(const struct gic_interface *from)
{
	WRITE(ICH_VMCR_EL2, from->control);
	load_active(from);
}

void gic_reset(struct vcpu *vcpu)
{
	vcpu->arch.lists.count = list_registers;
	for (unsigned i = 0; i < list_registers; i++) {
		list_write(i, 0);
		vcpu->arch.lists.lr[i] = 0;
	}
	load_interface(&(struct gic_interface){ .control = 0 });
	WRITE(ICH_HCR_EL2, ICH_HCR_ON);
	vcpu->attention = true;
}

/* ---- As Linux' KVM does it -------------------------------------------------------------------- */

static bool is_live(const struct vcpu *vcpu)
{
	for (unsigned i = 0; i < vcpu->arch.lists.count; i++)
		if (vcpu->arch.lists.lr[i] & (LR_PENDING | LR_ACTIVE))
			return true;
	return false;
}

/* A GICv2's interface is in memory and has other names; which of its registers are used, and how often, is
 * the same as here but where is_gicv3() says otherwise. */
static bool is_gicv3(const struct vcpu *vcpu)
{
	return vcpu->vm->config->policy == POLICY_KVM_GICV3 ||
	       vcpu->vm->config->policy == POLICY_KVM_GICV3_NO_TIMER;
}

void gic_restore_like_kvm(struct vcpu *vcpu)
{
	const struct gic_interface *interface = &vcpu->arch.interface;

	if (is_gicv3(vcpu))
		(void)READ(ICH_VTR_EL2);
	WRITE(ICH_VMCR_EL2, interface->control);
	if (!is_live(vcpu))
		return;
	WRITE(ICH_HCR_EL2, vcpu->arch.interface_on);
	load_active(interface);
	for (unsigned i = 0; i < vcpu->arch.lists.count; i++)
		if (vcpu->arch.lists.lr[i])
			list_write(i, vcpu->arch.lists.lr[i]);
}

void gic_save_like_kvm(struct vcpu *vcpu)
{
	struct gic_interface *interface = &vcpu->arch.interface;
	uint64_t empty;

	interface->control = READ(ICH_VMCR_EL2);
	if (is_live(vcpu)) {
		empty = READ(ICH_ELRSR_EL2);
		WRITE(ICH_HCR_EL2, 0);
		if (is_gicv3(vcpu))
			(void)READ(ICH_VTR_EL2);
		for (unsigned i = 0; i < vcpu->arch.lists.count; i++) {
			uint64_t *lr = &vcpu->arch.lists.lr[i];

			if (!*lr)
				continue;
			*lr = empty >> i & 1 ? *lr & ~(LR_PENDING | LR_ACTIVE) : list_read(i);
			list_write(i, 0);
		}
		save_active(interface);
	}
	if (is_gicv3(vcpu))
		WRITE(ICC_SRE_EL2, READ(ICC_SRE_EL2) | SRE_BELOW);
}

/* ---- The interface of a nested VM ----------------------------------------------------------- */

#define NESTED_LR(nested, n) ((nested)->page[(OFFSET_ICH_LR0_EL2 + 8 * (n)) / 8])

uint64_t gic_interface_state(const struct vcpu *vcpu, enum register_number number)
{
	const struct nested *nested = &vcpu->arch.nested;
	uint64_t lr[VGIC_MAX_LRS];
	struct virtual_interface interface = {
		.hcr = SLOT(nested, ICH_HCR_EL2),
		.vmcr = SLOT(nested, ICH_VMCR_EL2),
		.lr = lr,
		.count = list_registers,
	};

	for (unsigned i = 0; i < list_registers; i++)
		lr[i] = NESTED_LR(nested, i);
	return number == REG_ICH_MISR_EL2   ? virtual_maintenance(&interface)
	       : number == REG_ICH_EISR_EL2 ? virtual_ended(&interface)
					    : virtual_empty(&interface);
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
	read_lists(vcpu);
	vgic_save(vgic, vcpu->number, lists);
	for (unsigned i = 0; i < lists->count; i++) {
		uint64_t lr = NESTED_LR(nested, i);
		bool backed = vgic_is_backed(vgic, vcpu->number, virtual_physical(lr));

		lr = virtual_for_hardware(lr, backed);
		if (lists->lr[i]) {
			vcpu->attention = nested->refill = true;
			lists->lr[i] = 0;
			list_write(i, lr);
		} else if (lr) {
			list_write(i, lr);
		}
		nested->lists[i] = lr;
	}
	lock_release(&vcpu->vm->lock);
	save_interface(&nested->own);
	for (unsigned i = 0; i < active_registers; i++) {
		interface.active[0][i] = nested->page[OFFSET_ICH_AP0R0_EL2 / 8 + i];
		interface.active[1][i] = nested->page[OFFSET_ICH_AP1R0_EL2 / 8 + i];
	}
	load_interface(&interface);
	WRITE(ICH_HCR_EL2, SLOT(nested, ICH_HCR_EL2) & ICH_HCR_HEEDED);
	nested->lent = true;
}

void gic_take_back(struct vcpu *vcpu)
{
	struct nested *nested = &vcpu->arch.nested;
	struct vgic *vgic = &vcpu->vm->arch.vgic;
	struct gic_interface interface = { .control = 0 };

	lock_take(&vcpu->vm->lock);
	for (unsigned i = 0; i < list_registers; i++) {
		uint64_t was = NESTED_LR(nested, i), lr;

		if (!nested->lists[i])
			continue;
		lr = list_read(i);
		list_write(i, 0);
		NESTED_LR(nested, i) = virtual_from_hardware(was, lr);
		if (virtual_physical(was) && !(lr & (LR_PENDING | LR_ACTIVE)))
			vgic_ended(vgic, vcpu->number, virtual_physical(was));
	}
	SLOT(nested, ICH_HCR_EL2) = READ(ICH_HCR_EL2);
	save_interface(&interface);
	SLOT(nested, ICH_VMCR_EL2) = interface.control;
	for (unsigned i = 0; i < active_registers; i++) {
		nested->page[OFFSET_ICH_AP0R0_EL2 / 8 + i] = interface.active[0][i];
		nested->page[OFFSET_ICH_AP1R0_EL2 / 8 + i] = interface.active[1][i];
	}
	if (vcpu->vm->config->nest == MECHANISM_NEVE) { /* it reads copies */
		SLOT(nested, ICH_MISR_EL2) = gic_interface_state(vcpu, REG_ICH_MISR_EL2);
		SLOT(nested, ICH_EISR_EL2) = gic_interface_state(vcpu, REG_ICH_EISR_EL2);
		SLOT(nested, ICH_ELRSR_EL2) = gic_interface_state(vcpu, REG_ICH_ELRSR_EL2);
	}
	if (gic_interface_state(vcpu, REG_ICH_MISR_EL2)) {
		set_maintenance_line(vcpu);
		vcpu->attention = true;
	}
	lock_release(&vcpu->vm->lock);
	load_interface(&nested->own);
	WRITE(ICH_HCR_EL2, ICH_HCR_ON);
	if (nested->maintenance)
		deactivate(PPI_MAINTENANCE);
	nested->lent = nested->maintenance = false;
	if (nested->refill)
		vcpu->attention = true;
	nested->refill = false;
}

/* The nested VM's maintenance interrupt: its hypervisor's line is high as long as the hardware's is. */
static void take_maintenance(struct vcpu *vcpu)
{
	lock_take(&vcpu->vm->lock);
	vgic_set_own_line(&vcpu->vm->arch.vgic, vcpu->number, PPI_MAINTENANCE, true);
	lock_release(&vcpu->vm->lock);
	vcpu->attention = true;
}

/* ---- Physical interrupts -------------------------------------------------------------------- */

static void hand_on(struct vcpu *vcpu, unsigned intid)
{
	lock_take(&vcpu->vm->lock);
	read_lists(vcpu);
	if (vgic_physical(&vcpu->vm->arch.vgic, vcpu->number, &vcpu->arch.lists, intid))
		vcpu->attention = true;
	lock_release(&vcpu->vm->lock);
}

/* What was typed is the first VM's. */
static void hear(void)
{
	for (int byte = console_receive(); byte >= 0; byte = console_receive())
		vm_receive(&vms[0], (uint8_t)byte);
}

/* One that was acknowledged: its priority is dropped here; who deactivates it, and when, differs. */
static void take_one(struct vcpu *vcpu, unsigned intid)
{
	WRITE_REGISTER(ICC_EOIR1_EL1, intid);
	switch (intid) {
	case SGI_KICK:
		vcpu_count(vcpu, CAUSE_IRQ_KICK);
		deactivate(intid);
		break;
	case PPI_TIMER_VIRTUAL:
	case PPI_TIMER_PHYSICAL:
	case PPI_TIMER_HYPERVISOR:
		vcpu_count(vcpu, CAUSE_IRQ_TIMER);
		hand_on(vcpu, intid);
		break;
	case PPI_MAINTENANCE:
		vcpu_count(vcpu, CAUSE_IRQ_MAINTENANCE);
		/* It is level-triggered: its reasons must go first. A nested VM's are its hypervisor's. */
		if (vcpu->arch.nested.lent) {
			vcpu->arch.nested.maintenance = true;
			take_maintenance(vcpu);
			break;
		}
		gic_refill(vcpu);
		deactivate(intid);
		break;
	default:
		if (intid == console_intid) {
			vcpu_count(vcpu, CAUSE_IRQ_UART);
			hear();
		} else {
			vcpu_count(vcpu, CAUSE_IRQ_OTHER);
		}
		deactivate(intid);
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

void gic_take(struct vcpu *vcpu)
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

void arch_take_interrupts(struct vcpu *vcpu)
{
	gic_take(vcpu);
}

/* ICC_SGI1R_EL1: a list of 16 CPUs, which of the lists (RS), affinities 1 to 3, the INTID. */
void arch_kick(const struct cpu *cpu)
{
	uint64_t id = cpu->id;

	data_barrier();
	WRITE(ICC_SGI1R_EL1, 1ull << (id & 15) | (id >> 4 & 15) << 44 | (id >> 8 & 0xff) << 16 |
				     (id >> 16 & 0xff) << 32 | (id >> 32 & 0xff) << 48 |
				     (uint64_t)SGI_KICK << 24);
	instruction_barrier();
}

/* ---- What guests do to their virtual one ---------------------------------------------------- */

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

/* What a register says of this vCPU's interrupts is in its list registers: where it says something of
 * them, they are taken back first, and loaded anew before the guest goes on. Under the VM's lock. */
static void controller_row(struct vcpu *vcpu, struct access *access,
			   uint32_t (*registers)(struct vgic *, unsigned, struct access *))
{
	struct vgic *vgic = &vcpu->vm->arch.vgic;
	uint32_t mask;

	if (access->write || vgic_says_state(access->offset)) {
		read_lists(vcpu);
		vgic_save(vgic, vcpu->number, &vcpu->arch.lists);
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
	const struct device rows[] = {
		{ "gicd", GUEST_GICD, VGIC_DISTRIBUTOR_BYTES, CAUSE_GICD_READ, distributor_row,
		  NULL },
		{ "gicr", GUEST_GICR, (uint64_t)vm->vcpu_count * VGIC_REDISTRIBUTOR_BYTES,
		  CAUSE_GICR_READ, redistributors_row, NULL },
	};

	return devices_add(&vm->devices, &rows[0]) && devices_add(&vm->devices, &rows[1]);
}

/* ---- Setting it up -------------------------------------------------------------------------- */

static bool wait_clear(uint64_t address, uint32_t bits)
{
	for (unsigned i = 0; i < MAX_POLLS; i++)
		if (!(mmio_read32(address) & bits))
			return true;
	return false;
}

/* The console's interrupt, to this CPU. */
static void listen(const struct tree *tree)
{
	uint64_t distributor = tree->gic_distributor;
	unsigned intid = tree->uart_count ? tree->uart_intids[tree->console] : 0;
	uint64_t id = READ_REGISTER(mpidr_el1) & MPIDR_AFFINITY;
	unsigned word = intid / 32 * 4;

	if (!intid || !console_listen())
		return;
	console_intid = intid;
	mmio_write32(distributor + GICD_IGROUPR + word,
		     mmio_read32(distributor + GICD_IGROUPR + word) | 1u << intid % 32);
	out8(distributor + GICD_IPRIORITYR + intid, MIDDLE_PRIORITIES & 0xff);
	mmio_write32(distributor + GICD_IROUTER + 8 * intid, (uint32_t)id);
	mmio_write32(distributor + GICD_IROUTER + 8 * intid + 4, (uint32_t)(id >> 32));
	mmio_write32(distributor + GICD_ISENABLER + word, 1u << intid % 32);
}

const char *arch_interrupts_init(const struct tree *tree)
{
	uint64_t distributor = tree->gic_distributor;

	if (tree->gic_version != 3)
		return "the device tree has no GICv3 (QEMU: -machine virt,gic-version=3)";
	mmio_write32(distributor + GICD_CTLR, 0);
	if (!wait_clear(distributor + GICD_CTLR, CTLR_PENDING))
		return "the interrupt controller does not answer";
	mmio_write32(distributor + GICD_CTLR, CTLR_AFFINITY | CTLR_GROUPS);
	if (!wait_clear(distributor + GICD_CTLR, CTLR_PENDING))
		return "the interrupt controller does not answer";
	listen(tree);
	return NULL;
}

static uint64_t find_redistributor(uint64_t id)
{
	const struct tree *tree = machine_tree();
	uint32_t wanted = (uint32_t)(id | id >> 32 << 24);

	for (unsigned i = 0; i < tree->redistributor_count; i++) {
		uint64_t at = tree->redistributors[i].start, end = tree->redistributors[i].end;

		while (at < end && end - at >= GICR_BYTES) {
			uint32_t type = mmio_read32(at + GICR_TYPER);

			if (mmio_read32(at + GICR_TYPER + 4) == wanted)
				return at;
			if (type & TYPER_LAST)
				break;
			at += tree->redistributor_stride ? tree->redistributor_stride
			      : type & TYPER_VLPIS	 ? 2 * GICR_BYTES
							 : GICR_BYTES;
		}
	}
	return 0;
}

/* Our own CPU's part: SGIs and PPIs of group 1, those that we take switched on. */
const char *gic_cpu_init(struct cpu *cpu)
{
	uint64_t redistributor = find_redistributor(cpu->id), frame;
	unsigned bits;

	if (!redistributor)
		return "a CPU has no redistributor in the interrupt controller";
	mmio_write32(redistributor + GICR_WAKER,
		     mmio_read32(redistributor + GICR_WAKER) & ~WAKER_SLEEP);
	if (!wait_clear(redistributor + GICR_WAKER, WAKER_ASLEEP))
		return "a CPU's redistributor does not wake up";
	frame = redistributor + GICR_SGI_FRAME;
	mmio_write32(frame + GICD_IGROUPR, ~(uint32_t)0);
	mmio_write32(frame + GICD_ICENABLER, ~(uint32_t)0);
	for (unsigned i = 0; i < VGIC_OWN / 4; i++)
		mmio_write32(frame + GICD_IPRIORITYR + i * 4, MIDDLE_PRIORITIES);
	mmio_write32(frame + GICD_ISENABLER,
		     1u << SGI_KICK | 1u << PPI_MAINTENANCE | 1u << PPI_TIMER_VIRTUAL |
			     1u << PPI_TIMER_PHYSICAL | 1u << PPI_TIMER_HYPERVISOR);
	WRITE(ICC_SRE_EL2, READ(ICC_SRE_EL2) | SRE_USE | SRE_BELOW);
	instruction_barrier();
	WRITE_REGISTER(ICC_PMR_EL1, ALL_PRIORITIES);
	WRITE_REGISTER(ICC_CTLR_EL1, READ_REGISTER(ICC_CTLR_EL1) | CTLR_SPLIT);
	WRITE_REGISTER(ICC_IGRPEN1_EL1, 1);
	instruction_barrier();
	list_registers = (unsigned)(READ(ICH_VTR_EL2) & VTR_LISTS) + 1;
	bits = (unsigned)(READ(ICH_VTR_EL2) >> VTR_PREEMPTION & 7) + 1; /* 12.4.1 */
	active_registers = bits >= 7 ? 4 : bits >= 6 ? 2 : 1;
	return NULL;
}
