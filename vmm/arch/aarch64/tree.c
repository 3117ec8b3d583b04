/* Writes the machine's device tree (common/virt_tree.h). Pure. */
#include "common/virt_tree.h"
#include <arch/board.h>

#include "vmm/tree_chosen.h"

static void add_gic(struct tree_writer *tree, const struct machine_tree *machine)
{
	struct virt_gic gic = { .version = machine->gic_version,
				.distributor = GIC_DISTRIBUTOR,
				.distributor_bytes = GIC_DISTRIBUTOR_BYTES,
				.second = GIC_CPU_INTERFACE,
				.second_bytes = GIC_CPU_INTERFACE_BYTES,
				.its = machine->has_its ? GIC_ITS : 0,
				.its_bytes = GIC_ITS_BYTES,
				.maintenance = machine->el2 };

	if (gic.version == 3) {
		gic.second = GIC_REDISTRIBUTORS;
		gic.second_bytes = (uint64_t)machine->cpus * GIC_REDISTRIBUTOR_BYTES;
	}
	virt_tree_gic(tree, &gic);
}

size_t tree_write(uint8_t *to, size_t most, const struct machine_tree *machine)
{
	struct tree_writer writer, *tree = &writer;

	tree_begin(tree, to, (uint32_t)most);
	tree_node(tree, "");
	tree_text(tree, "compatible", "linux,dummy-virt");
	virt_tree_root(tree);
	if (machine->domains)
		xen_tree(tree, machine);
	else
		add_chosen(tree, machine);
	virt_tree_memory(tree, RAM, machine->memory_bytes);
	if (machine->pmem_bytes)
		virt_tree_pmem(tree, machine->pmem, machine->pmem_bytes);
	virt_tree_cpus(tree, machine->cpus);
	virt_tree_psci(tree, machine->el2);
	virt_tree_timer(tree);
	add_gic(tree, machine);
	virt_tree_clock(tree);
	virt_tree_uart(tree, "uart", UART0, UART0_INTID);
	virt_tree_uart(tree, "uart", UART1, UART1_INTID);
	tree_node_end(tree);
	return tree_end(tree);
}
