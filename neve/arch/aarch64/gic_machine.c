/* The machine's GICv3 (Arm IHI 0069) set up: its distributor once, its redistributors and the CPU interface by
 * each CPU. Called by core/main.c and vcpu.c. */
#include "gic.h"

#include "accessors.h"
#include "arch.h"
#include "console.h"
#include "core/main.h"
#include "guest_tree.h"
#include "interface.h"
#include "main.h"
#include "posih.h"

/* Of the distributor; GICR_... + GICR_SGI_FRAME has the same for one CPU. */
#define GICD_CTLR	0x000
#define GICD_IGROUPR	0x080
#define GICD_ISENABLER	0x100
#define GICD_ICENABLER	0x180
#define GICD_ISACTIVER	0x300
#define GICD_ICACTIVER	0x380
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

#define MAX_POLLS 1000000

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
	gic_console_intid = intid;
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

static uint64_t frames[MAX_CPUS]; /* of each CPU's SGIs and PPIs */

void gic_set_active(const struct cpu *cpu, uint32_t active, uint32_t inactive)
{
	mmio_write32(frames[cpu->number] + GICD_ISACTIVER, active);
	mmio_write32(frames[cpu->number] + GICD_ICACTIVER, inactive);
	data_barrier();
}

/* Our own CPU's part: SGIs and PPIs of group 1, those that we take switched on. */
const char *gic_cpu_init(struct cpu *cpu)
{
	uint64_t redistributor = find_redistributor(cpu->id), frame;

	if (!redistributor)
		return "a CPU has no redistributor in the interrupt controller";
	mmio_write32(redistributor + GICR_WAKER,
		     mmio_read32(redistributor + GICR_WAKER) & ~WAKER_SLEEP);
	if (!wait_clear(redistributor + GICR_WAKER, WAKER_ASLEEP))
		return "a CPU's redistributor does not wake up";
	frame = frames[cpu->number] = redistributor + GICR_SGI_FRAME;
	mmio_write32(frame + GICD_IGROUPR, ~(uint32_t)0);
	mmio_write32(frame + GICD_ICENABLER, ~(uint32_t)0);
	for (unsigned i = 0; i < VGIC_OWN / 4; i++)
		mmio_write32(frame + GICD_IPRIORITYR + i * 4, MIDDLE_PRIORITIES);
	mmio_write32(frame + GICD_ISENABLER, 1u << SGI_KICK | 1u << PPI_MAINTENANCE | TIMER_PPIS);
	WRITE(ICC_SRE_EL2, READ(ICC_SRE_EL2) | SRE_USE | SRE_BELOW);
	instruction_barrier();
	WRITE_REGISTER(ICC_PMR_EL1, ALL_PRIORITIES);
	WRITE_REGISTER(ICC_CTLR_EL1, READ_REGISTER(ICC_CTLR_EL1) | CTLR_SPLIT);
	WRITE_REGISTER(ICC_IGRPEN1_EL1, 1);
	instruction_barrier();
	interface_init();
	return NULL;
}
