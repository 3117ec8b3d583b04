/* The interrupt controller: GICv2 (Arm IHI 0048) or GICv3 (IHI 0069). */
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include "common/gic_driver.h"
#include "latency.h"
#include "guest/arch/aarch64/machine.h"
#include "guest/core/smp.h"
#include <arch/timed_exits.h>

#define OWN_INTERRUPTS (1u << SGI_IPI | 1u << SGI_COMPLETION)
#define SGIR_TO_SELF   (2u << 24)

#define GICC_CTLR 0x00
#define GICC_PMR  0x04
#define GICC_IAR  0x0c
#define GICC_EOIR 0x10
#define GICC_RPR  0x14
#define IAR_INTID 0x3ff
#define IDLE	  0xff

#define ALL_PRIORITIES 0xf0
#define SRE_USE	       1 /* system registers */
#define SRE_LOWER      8 /* ... and below EL2 too */
#define CTLR_EOI_MODE  2

#define MPIDR_AFFINITY 0xff00ffffffull

static unsigned version;
static uint64_t distributor;
static uint8_t masks[MAX_CPUS]; /* version 2: each CPU's bit in target lists */

uint64_t gic_cpu_interface; /* version 2, read by exceptions.S; 0: system registers */

const char *gic_name(void)
{
	if (version == 3)
		return machine_tree()->its ? "gicv3-its" : "gicv3";
	return version == 2 ? "gicv2" : "none";
}

static uint64_t affinity(void)
{
	return READ_REGISTER(mpidr_el1) & MPIDR_AFFINITY;
}

static uint64_t own_redistributor(void)
{
	return gic_redistributor(machine_tree(), affinity());
}

bool gic_own_interrupt(unsigned intid, bool on)
{
	if (version)
		gic_own(version == 3 ? own_redistributor() + GICR_SGI_FRAME : distributor, intid,
			on);
	return version;
}

static bool enable_v3(void)
{
	uint64_t frame = own_redistributor();

	if (!frame || !gic_wake(frame))
		return false;
	gic_enable_own(frame + GICR_SGI_FRAME, OWN_INTERRUPTS);
	if (cpu_level != LEVEL_EL1) {
		WRITE_REGISTER(ICC_SRE_EL2, READ_REGISTER(ICC_SRE_EL2) | SRE_USE | SRE_LOWER);
		instruction_barrier();
	}
	WRITE_REGISTER(ICC_SRE_EL1, READ_REGISTER(ICC_SRE_EL1) | SRE_USE);
	instruction_barrier();
	if (!(READ_REGISTER(ICC_SRE_EL1) & SRE_USE))
		return false;
	WRITE_REGISTER(ICC_PMR_EL1, ALL_PRIORITIES);
	WRITE_REGISTER(ICC_CTLR_EL1, READ_REGISTER(ICC_CTLR_EL1) & ~(uint64_t)CTLR_EOI_MODE);
	WRITE_REGISTER(ICC_IGRPEN1_EL1, 1);
	instruction_barrier();
	return true;
}

static void enable_v2(void)
{
	masks[cpu_self()->number] = (uint8_t)mmio_read32(distributor + GICD_ITARGETSR);
	gic_enable_own(distributor, OWN_INTERRUPTS);
	mmio_write32(gic_cpu_interface + GICC_PMR, ALL_PRIORITIES);
	mmio_write32(gic_cpu_interface + GICC_CTLR, 1);
}

bool gic_enable(void)
{
	if (version == 3)
		return enable_v3();
	if (version == 2)
		enable_v2();
	return version == 2;
}

const char *gic_init(const struct tree *tree)
{
	version = tree->gic_version;
	distributor = tree->gic_distributor;
	gic_cpu_interface = tree->gic_cpu_interface;
	if (!version)
		return "the device tree has no interrupt controller that is known here";
	if (gic_enable_distributor(distributor, version) && gic_enable())
		return NULL;
	version = 0;
	return "the interrupt controller does not answer as the device tree says";
}

static uint64_t command(const struct cpu *to, uint64_t sgi)
{
	uint64_t id = to->id;

	if (version == 2)
		return (uint64_t)masks[to->number] << 16 | sgi;
	/* ICC_SGI1R_EL1: target list of 16 CPUs, range selector (RS), affinities 1 to 3, INTID. */
	return 1ull << (id & 15) | (id >> 4 & 15) << 44 | (id >> 8 & 0xff) << 16 |
	       (id >> 16 & 0xff) << 32 | (id >> 32 & 0xff) << 48 | sgi << 24;
}

static void send(uint64_t value)
{
	data_barrier();
	if (version == 3) {
		WRITE_REGISTER(ICC_SGI1R_EL1, value);
		instruction_barrier();
	} else if (version == 2) {
		mmio_write32(distributor + GICD_SGIR, (uint32_t)value);
	}
}

void arch_send_ipi(const struct cpu *to)
{
	send(command(to, SGI_IPI));
}

bool ipi_operand_fill(struct ipi_operand *operand, unsigned cpu, bool yield)
{
	if (!cpu || cpu >= cpus_online())
		return false;
	*operand = (struct ipi_operand){
		.gicv3 = version == 3,
		.command = command(&cpus[cpu], SGI_IPI),
		.sgir = (volatile uint32_t *)(distributor + GICD_SGIR),
		.received = &ipi_received,
		.ready = &cpus[cpu].ready,
		.yield = yield,
		.settle_passes = 64,
	};
	return true;
}

bool controller_operand_fill(struct controller_operand *operand)
{
	if (!version)
		return false;
	*operand = (struct controller_operand){ .address = distributor + GICD_IIDR };
	operand->wanted = mmio_read32(operand->address);
	return true;
}

bool completion_operand_fill(struct completion_operand *operand)
{
	*operand = (struct completion_operand){
		.cpu_interface = gic_cpu_interface,
		/* Version 2: to itself. The CPU's own target bit reads as 0 on a single-CPU system. */
		.command = version == 2 ? SGIR_TO_SELF | SGI_COMPLETION
					: command(&cpus[0], SGI_COMPLETION),
		.sgir = (volatile uint32_t *)(distributor + GICD_SGIR),
		.wanted = SGI_COMPLETION,
	};
	return version;
}

/* By the running priority in the CPU interface: hypervisors need not emulate that, and some do not emulate
 * the distributor's active register. No other interrupt is ever active on this CPU. */
bool completion_is_active(void)
{
	uint64_t priority = version == 3 ? READ_REGISTER(ICC_RPR_EL1)
					 : mmio_read32(gic_cpu_interface + GICC_RPR);

	return (priority & IDLE) != IDLE;
}

bool pending_send(void)
{
	struct completion_operand self;

	if (!completion_operand_fill(&self))
		return false;
	send(self.command);
	return true;
}

bool pending_take(void)
{
	uint32_t taken;

	if (!version)
		return false;
	taken = version == 3 ? (uint32_t)READ_REGISTER(ICC_IAR1_EL1)
			     : mmio_read32(gic_cpu_interface + GICC_IAR);
	if ((taken & IAR_INTID) != SGI_COMPLETION)
		return false;
	if (version == 3)
		WRITE_REGISTER(ICC_EOIR1_EL1, taken);
	else
		mmio_write32(gic_cpu_interface + GICC_EOIR, taken);
	return true;
}

bool latency_interrupt_fill(struct latency_page *page)
{
	if (!version)
		return false;
	/* Edge-triggered: from a kernel it is raised only momentarily. */
	gic_enable_shared(distributor, version, INTID_LATENCY,
			  version == 3 ? affinity() : masks[cpu_self()->number], true);
	page->interrupt_address = 0;
	page->interrupt_data = INTID_LATENCY - GIC_FIRST_SHARED;
	return true;
}

const char *lpi_operand_fill(struct lpi_operand *operand)
{
	static struct its_ring ring;
	const char *wrong = NULL;

	if (version != 3 || !machine_tree()->its)
		return "there is no ITS: interrupts come by wires only";
	if (!ring.written)
		wrong = its_map_event(machine_tree()->its, own_redistributor(), INTID_LPI, &ring);
	*operand = (struct lpi_operand){ .ring = ring, .handled = &latency_handled };
	return wrong;
}

static unsigned timer_intid(void)
{
	return cpu_level == LEVEL_EL2_VHE ? INTID_TIMER_EL2 : INTID_TIMER;
}

const char *timer_operand_fill(struct timer_operand *operand)
{
	*operand = (struct timer_operand){
		.ticks = arch_long_ticks() / 100,
		.handled = &latency_handled,
	};
	return gic_own_interrupt(timer_intid(), true) ? NULL : "there is no interrupt controller";
}

void timer_stop(void)
{
	gic_own_interrupt(timer_intid(), false);
}
