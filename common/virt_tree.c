/* Device tree nodes of a virtual machine; see virt_tree.h. */
#include "common/virt_tree.h"

#include "common/pl011_registers.h"
#include "common/tree_node_at.h"

#define CLOCK_HZ 24000000

/* An interrupt is three cells: kind, number, trigger. */
#define SHARED(intid)  0, (intid)-32, 4 /* level-triggered */
#define PRIVATE(intid) 1, (intid)-16, 4

void virt_tree_root(struct tree_writer *tree)
{
	TREE_CELLS(tree, "#address-cells", 2);
	TREE_CELLS(tree, "#size-cells", 2);
	TREE_CELLS(tree, "interrupt-parent", PHANDLE_GIC);
}

void virt_tree_memory(struct tree_writer *tree, uint64_t start, uint64_t bytes)
{
	node_at(tree, "memory", start);
	tree_text(tree, "device_type", "memory");
	TREE_CELLS(tree, "reg", TREE_WIDE(start), TREE_WIDE(bytes));
	tree_node_end(tree);
}

void virt_tree_pmem(struct tree_writer *tree, uint64_t start, uint64_t bytes)
{
	node_at(tree, "pmem", start);
	tree_text(tree, "compatible", "pmem-region");
	TREE_CELLS(tree, "reg", TREE_WIDE(start), TREE_WIDE(bytes));
	tree_node_end(tree);
}

void virt_tree_cpus(struct tree_writer *tree, unsigned count)
{
	tree_node(tree, "cpus");
	TREE_CELLS(tree, "#address-cells", 1);
	TREE_CELLS(tree, "#size-cells", 0);
	for (unsigned i = 0; i < count; i++) {
		uint32_t affinity = i / 16 << 8 | i % 16;

		node_at(tree, "cpu", affinity);
		tree_text(tree, "device_type", "cpu");
		tree_text(tree, "compatible", "arm,armv8");
		tree_text(tree, "enable-method", "psci");
		TREE_CELLS(tree, "reg", affinity);
		tree_node_end(tree);
	}
	tree_node_end(tree);
}

void virt_tree_psci(struct tree_writer *tree, bool at_el2)
{
	tree_node(tree, "psci");
	TREE_TEXTS(tree, "compatible", "arm,psci-1.0\0arm,psci-0.2");
	tree_text(tree, "method", at_el2 ? "smc" : "hvc");
	tree_node_end(tree);
}

void virt_tree_timer(struct tree_writer *tree)
{
	tree_node(tree, "timer");
	tree_text(tree, "compatible", "arm,armv8-timer");
	tree_property(tree, "always-on", "", 0);
	TREE_CELLS(tree, "interrupts", PRIVATE(PPI_TIMER_SECURE), PRIVATE(PPI_TIMER_PHYSICAL),
		   PRIVATE(PPI_TIMER_VIRTUAL), PRIVATE(PPI_TIMER_HYPERVISOR),
		   PRIVATE(PPI_TIMER_HYPERVISOR_VIRTUAL));
	tree_node_end(tree);
}

void virt_tree_clock(struct tree_writer *tree)
{
	tree_node(tree, "clock");
	tree_text(tree, "compatible", "fixed-clock");
	TREE_CELLS(tree, "#clock-cells", 0);
	TREE_CELLS(tree, "clock-frequency", CLOCK_HZ);
	TREE_CELLS(tree, "phandle", PHANDLE_CLOCK);
	tree_node_end(tree);
}

void virt_tree_uart(struct tree_writer *tree, const char *name, uint64_t address, unsigned intid)
{
	node_at(tree, name, address);
	TREE_TEXTS(tree, "compatible", "arm,pl011\0arm,primecell");
	TREE_CELLS(tree, "reg", TREE_WIDE(address), TREE_WIDE(PL011_BYTES));
	TREE_CELLS(tree, "interrupts", SHARED(intid));
	TREE_CELLS(tree, "clocks", PHANDLE_CLOCK, PHANDLE_CLOCK);
	TREE_TEXTS(tree, "clock-names", "uartclk\0apb_pclk");
	tree_node_end(tree);
}

void virt_tree_gic(struct tree_writer *tree, const struct virt_gic *gic)
{
	node_at(tree, "interrupt-controller", gic->distributor);
	TREE_CELLS(tree, "#interrupt-cells", 3);
	TREE_CELLS(tree, "#address-cells", 2);
	TREE_CELLS(tree, "#size-cells", 2);
	TREE_CELLS(tree, "phandle", PHANDLE_GIC);
	tree_property(tree, "interrupt-controller", "", 0);
	tree_property(tree, "ranges", "", 0);
	tree_text(tree, "compatible", gic->version == 3 ? "arm,gic-v3" : "arm,cortex-a15-gic");
	TREE_CELLS(tree, "reg", TREE_WIDE(gic->distributor), TREE_WIDE(gic->distributor_bytes),
		   TREE_WIDE(gic->second), TREE_WIDE(gic->second_bytes));
	if (gic->maintenance)
		TREE_CELLS(tree, "interrupts", PRIVATE(PPI_MAINTENANCE));
	if (gic->its) {
		node_at(tree, "its", gic->its);
		tree_text(tree, "compatible", "arm,gic-v3-its");
		tree_property(tree, "msi-controller", "", 0);
		TREE_CELLS(tree, "#msi-cells", 1);
		TREE_CELLS(tree, "reg", TREE_WIDE(gic->its), TREE_WIDE(gic->its_bytes));
		tree_node_end(tree);
	}
	tree_node_end(tree);
}
