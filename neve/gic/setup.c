/* Sets up the machine's GICv3 (Arm IHI 0069): the distributor once, a redistributor and the CPU interface
 * on each CPU. */
#include "gic/gic.h"

#include "common/device_io.h"
#include "common/gic_driver.h"
#include "core/arch.h"
#include "core/console.h"
#include "core/guest_tree.h"
#include "core/main.h"
#include "cpu/accessors.h"
#include "gic/ich.h"

#define ALL_PRIORITIES 0xf0

static const struct tree *machine_tree;

/* Routes the console's interrupt to this CPU. */
static void listen(const struct tree *tree)
{
	unsigned intid = tree->uart_count ? tree->uart_intids[tree->console] : 0;

	if (!intid || !console_listen())
		return;
	gic_console_intid = intid;
	gic_enable_shared(tree->gic_distributor, 3, intid,
			  READ_REGISTER(mpidr_el1) & MPIDR_AFFINITY, false);
}

const char *arch_interrupts_init(const struct tree *tree)
{
	if (tree->gic_version != 3)
		return "the device tree has no GICv3 (QEMU: -machine virt,gic-version=3)";
	if (!gic_enable_distributor(tree->gic_distributor, 3))
		return "the interrupt controller does not answer";
	listen(tree);
	machine_tree = tree;
	return NULL;
}

static uint64_t frames[MAX_CPUS]; /* SGI and PPI frames, by CPU */

void gic_set_active(const struct cpu *cpu, uint32_t active, uint32_t inactive)
{
	mmio_write32(frames[cpu->number] + GICD_ISACTIVER, active);
	mmio_write32(frames[cpu->number] + GICD_ICACTIVER, inactive);
	data_barrier();
}

/* Sets this CPU's SGIs and PPIs to group 1, and enables those that we use. */
const char *gic_cpu_init(struct cpu *cpu)
{
	uint64_t redistributor = gic_redistributor(machine_tree, cpu->id), frame;

	if (!redistributor)
		return "a CPU has no redistributor in the interrupt controller";
	if (!gic_wake(redistributor))
		return "a CPU's redistributor does not wake up";
	frame = frames[cpu->number] = redistributor + GICR_SGI_FRAME;
	gic_enable_own(frame, 1u << SGI_KICK | 1u << PPI_MAINTENANCE | TIMER_PPIS);
	WRITE(ICC_SRE_EL2, READ(ICC_SRE_EL2) | ICC_SRE_SRE | ICC_SRE_ENABLE);
	instruction_barrier();
	WRITE_REGISTER(ICC_PMR_EL1, ALL_PRIORITIES);
	WRITE_REGISTER(ICC_CTLR_EL1, READ_REGISTER(ICC_CTLR_EL1) | ICC_CTLR_EOIMODE);
	WRITE_REGISTER(ICC_IGRPEN1_EL1, 1);
	instruction_barrier();
	ich_init();
	return NULL;
}
