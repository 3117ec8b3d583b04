/* The interrupt controller, GICv2 (Arm IHI 0048) or GICv3 (IHI 0069). Called by machine.c, by smp.c
 * for each CPU, and by on_cpu(). */
#include "arch.h"
#include "cpu.h"
#include "latency.h"
#include "machine.h"
#include "relax.h"
#include "smp.h"
#include "timed.h"

/* Of the distributor, in both versions; GICR_... + SGI_FRAME has the same for one CPU in version 3. */
#define GICD_CTLR	0x000
#define GICD_IIDR	0x008
#define GICD_IGROUPR	0x080
#define GICD_ISENABLER	0x100
#define GICD_ICENABLER	0x180
#define GICD_IPRIORITYR 0x400
#define GICD_ITARGETSR	0x800
#define GICD_ICFGR	0xc00
#define GICD_SGIR	0xf00
#define GICD_IROUTER	0x6000

#define SGIR_TO_SELF (2u << 24)

#define GICC_CTLR 0x00
#define GICC_PMR  0x04
#define GICC_RPR  0x14
#define IDLE	  0xff

#define GICR_TYPER     0x0008
#define GICR_WAKER     0x0014
#define GICR_SGI_FRAME 0x10000
#define GICR_BYTES     0x20000 /* and twice that with virtual LPIs */
#define TYPER_VLPIS    (1u << 1)
#define TYPER_LAST     (1u << 4)
#define WAKER_SLEEP    (1u << 1)
#define WAKER_ASLEEP   (1u << 2)

#define CTLR_PENDING	  (1u << 31) /* RWP */
#define CTLR_AFFINITY	  (1u << 4)
#define CTLR_GROUPS	  3u /* group 1, by either of its bits: which one depends on security */
#define ALL_PRIORITIES	  0xf0
#define MIDDLE_PRIORITIES 0xa0a0a0a0u
#define SRE_USE		  1 /* system registers */
#define SRE_LOWER	  8 /* ... and below EL2 too */
#define CTLR_EOI_MODE	  2
#define MAX_POLLS	  1000000

#define MPIDR_AFFINITY 0xff00ffffffull

static unsigned version;
static bool has_its;
static uint64_t distributor;
static uint8_t masks[MAX_CPUS]; /* version 2: the bit by which each CPU is called */

uint64_t gic_cpu_interface; /* version 2; exceptions.S reads it. 0: system registers */

const char *gic_name(void)
{
	if (version == 3)
		return has_its ? "gicv3-its" : "gicv3";
	return version == 2 ? "gicv2" : "none";
}

static bool wait_clear(uint64_t address, uint32_t bits)
{
	for (unsigned i = 0; i < MAX_POLLS; i++) {
		if (!(mmio_read32(address) & bits))
			return true;
		relax();
	}
	return false;
}

/* The registers at `frame` of the 32 interrupts that each CPU has of its own: two of them are on. */
static void enable_own(uint64_t frame)
{
	mmio_write32(frame + GICD_ICENABLER, ~(uint32_t)0);
	for (unsigned i = 0; i < 4; i++)
		mmio_write32(frame + GICD_IPRIORITYR + i * 4, MIDDLE_PRIORITIES);
	mmio_write32(frame + GICD_ISENABLER, 1u << SGI_IPI | 1u << SGI_COMPLETION);
}

static uint64_t affinity(void)
{
	return READ_REGISTER(mpidr_el1) & MPIDR_AFFINITY;
}

/* This CPU's redistributor, 0 where there is none. */
static uint64_t own_redistributor(void)
{
	const struct tree *tree = machine_tree();
	uint64_t id = affinity();
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

static bool enable_v3(void)
{
	uint64_t frame = own_redistributor();

	if (!frame)
		return false;
	mmio_write32(frame + GICR_WAKER, mmio_read32(frame + GICR_WAKER) & ~WAKER_SLEEP);
	if (!wait_clear(frame + GICR_WAKER, WAKER_ASLEEP))
		return false;
	mmio_write32(frame + GICR_SGI_FRAME + GICD_IGROUPR, ~(uint32_t)0);
	enable_own(frame + GICR_SGI_FRAME);
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
	enable_own(distributor);
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
	has_its = tree->has_its;
	if (!version)
		return "the device tree has no interrupt controller that is known here";
	mmio_write32(distributor + GICD_CTLR, 0);
	if (version == 3) {
		wait_clear(distributor + GICD_CTLR, CTLR_PENDING);
		mmio_write32(distributor + GICD_CTLR, CTLR_AFFINITY | CTLR_GROUPS);
		wait_clear(distributor + GICD_CTLR, CTLR_PENDING);
	} else {
		mmio_write32(distributor + GICD_CTLR, CTLR_GROUPS);
	}
	if (gic_enable())
		return NULL;
	version = 0;
	return "the interrupt controller does not answer as the device tree says";
}

static uint64_t command(const struct cpu *to, uint64_t sgi)
{
	uint64_t id = to->id;

	if (version == 2)
		return (uint64_t)masks[to->number] << 16 | sgi;
	/* ICC_SGI1R_EL1: a list of 16 CPUs, which of the lists (RS), affinities 1 to 3, the INTID. */
	return 1ull << (id & 15) | (id >> 4 & 15) << 44 | (id >> 8 & 0xff) << 16 |
	       (id >> 16 & 0xff) << 32 | (id >> 32 & 0xff) << 48 | sgi << 24;
}

void arch_send_ipi(const struct cpu *to)
{
	data_barrier();
	if (version == 3) {
		WRITE_REGISTER(ICC_SGI1R_EL1, command(to, SGI_IPI));
		instruction_barrier();
	} else if (version == 2) {
		mmio_write32(distributor + GICD_SGIR, (uint32_t)command(to, SGI_IPI));
	}
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
		/* Version 2: to oneself. The CPU's own bit reads as 0 where it is alone. */
		.command = version == 2 ? SGIR_TO_SELF | SGI_COMPLETION
					: command(&cpus[0], SGI_COMPLETION),
		.sgir = (volatile uint32_t *)(distributor + GICD_SGIR),
		.wanted = SGI_COMPLETION,
	};
	return version;
}

/* By the running priority, which the CPU interface keeps: hypervisors need not emulate it, and some do
 * not emulate the distributor's register. No other interrupt is ever active on this CPU. */
bool completion_is_active(void)
{
	uint64_t priority = version == 3 ? READ_REGISTER(ICC_RPR_EL1)
					 : mmio_read32(gic_cpu_interface + GICC_RPR);

	return (priority & IDLE) != IDLE;
}

#define EDGE(intid)    (2u << (intid) % 16 * 2)
#define FIRST_SHARED   32
#define BIT(intid)     (1u << (intid) % 32)
#define WORD_OF(intid) ((intid) / 32 * 4)

/* A shared interrupt, on an edge: who raises it from a kernel does so for no time at all. */
bool latency_interrupt_fill(struct latency_page *page)
{
	uint64_t config = distributor + GICD_ICFGR + INTID_LATENCY / 16 * 4, to_self;

	if (!version)
		return false;
	to_self = version == 3 ? affinity() : masks[cpu_self()->number];
	mmio_write32(config, mmio_read32(config) | EDGE(INTID_LATENCY));
	mmio_write32(distributor + GICD_IGROUPR + WORD_OF(INTID_LATENCY), ~(uint32_t)0);
	mmio_write32(distributor + GICD_IPRIORITYR + INTID_LATENCY / 4 * 4, MIDDLE_PRIORITIES);
	if (version == 3) {
		mmio_write32(distributor + GICD_IROUTER + INTID_LATENCY * 8, (uint32_t)to_self);
		mmio_write32(distributor + GICD_IROUTER + INTID_LATENCY * 8 + 4,
			     (uint32_t)(to_self >> 32));
	} else {
		out8(distributor + GICD_ITARGETSR + INTID_LATENCY,
		     (uint8_t)(to_self ? to_self : 1));
	}
	mmio_write32(distributor + GICD_ISENABLER + WORD_OF(INTID_LATENCY), BIT(INTID_LATENCY));
	page->interrupt_address = 0;
	page->interrupt_data = INTID_LATENCY - FIRST_SHARED;
	return true;
}
