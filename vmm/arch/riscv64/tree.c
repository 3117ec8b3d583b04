/* Writes the machine's device tree (bindings: Linux, Documentation/devicetree/bindings). Pure. */
#include "common/tree_node_at.h"
#include "common/virt_tree.h"
#include "vmm/options.h"
#include <arch/board.h>

#include "vmm/tree_chosen.h"

#define APLIC_BYTES 0x4000
#define IMSIC_BYTES 0x1000 /* per vCPU */
#define CLOCK_HZ    3686400

#define EXTERNAL	    9 /* the interrupt of a vCPU that an IMSIC raises */
#define LEVEL_HIGH	    4
#define PHANDLE_APLIC	    1
#define PHANDLE_IMSIC	    2
#define PHANDLE_CPU(number) (3 + (number))

static const char *mmu_type(uint64_t satp_mode)
{
	switch (satp_mode) {
	case 10:
		return "riscv,sv57";
	case 9:
		return "riscv,sv48";
	default:
		return "riscv,sv39";
	}
}

static void add_block(struct tree_writer *tree, const char *name, uint64_t bytes)
{
	if (bytes)
		TREE_CELLS(tree, name, (uint32_t)bytes);
}

/* Newer kernels read the extensions as a list, older ones as one string. */
static void add_hart(struct tree_writer *tree, const struct hart *hart)
{
	char text[ISA_BYTES];

	tree_property(tree, "riscv,isa", text, isa_string(hart, text));
	tree_text(tree, "riscv,isa-base", "rv64i");
	tree_property(tree, "riscv,isa-extensions", text, isa_list(hart, text));
	tree_text(tree, "mmu-type", mmu_type(hart->satp_mode));
	add_block(tree, "riscv,cbom-block-size", hart->cbom_bytes);
	add_block(tree, "riscv,cboz-block-size", hart->cboz_bytes);
	add_block(tree, "riscv,cbop-block-size", hart->cbop_bytes);
}

static void add_cpus(struct tree_writer *tree, const struct machine_tree *machine)
{
	tree_node(tree, "cpus");
	TREE_CELLS(tree, "#address-cells", 1);
	TREE_CELLS(tree, "#size-cells", 0);
	TREE_CELLS(tree, "timebase-frequency", (uint32_t)machine->hart.timebase_hz);
	for (unsigned i = 0; i < machine->cpus; i++) {
		node_at(tree, "cpu", i);
		tree_text(tree, "device_type", "cpu");
		tree_text(tree, "compatible", "riscv");
		TREE_CELLS(tree, "reg", i);
		add_hart(tree, &machine->hart);
		tree_node(tree, "interrupt-controller");
		tree_text(tree, "compatible", "riscv,cpu-intc");
		TREE_CELLS(tree, "#interrupt-cells", 1);
		tree_property(tree, "interrupt-controller", "", 0);
		TREE_CELLS(tree, "phandle", PHANDLE_CPU(i));
		tree_node_end(tree);
		tree_node_end(tree);
	}
	tree_node_end(tree);
}

static void add_imsics(struct tree_writer *tree, const struct machine_tree *machine)
{
	uint32_t cells[2 * MAX_VCPUS],
		count = machine->cpus < MAX_VCPUS ? machine->cpus : MAX_VCPUS;

	for (uint32_t i = 0; i < count; i++) {
		cells[2 * i] = PHANDLE_CPU(i);
		cells[2 * i + 1] = EXTERNAL;
	}
	node_at(tree, "interrupt-controller", IMSIC);
	tree_text(tree, "compatible", "riscv,imsics");
	TREE_CELLS(tree, "reg", TREE_WIDE(IMSIC), TREE_WIDE((uint64_t)count * IMSIC_BYTES));
	tree_cells(tree, "interrupts-extended", cells, 2 * count);
	tree_property(tree, "interrupt-controller", "", 0);
	TREE_CELLS(tree, "#interrupt-cells", 0);
	tree_property(tree, "msi-controller", "", 0);
	TREE_CELLS(tree, "#msi-cells", 0);
	TREE_CELLS(tree, "riscv,num-ids", machine->ids);
	TREE_CELLS(tree, "phandle", PHANDLE_IMSIC);
	tree_node_end(tree);
}

static void add_aplic(struct tree_writer *tree, const struct machine_tree *machine)
{
	node_at(tree, "interrupt-controller", APLIC);
	tree_text(tree, "compatible", "riscv,aplic");
	TREE_CELLS(tree, "reg", TREE_WIDE(APLIC), TREE_WIDE(APLIC_BYTES));
	TREE_CELLS(tree, "msi-parent", PHANDLE_IMSIC);
	tree_property(tree, "interrupt-controller", "", 0);
	TREE_CELLS(tree, "#interrupt-cells", 2);
	TREE_CELLS(tree, "#address-cells", 0);
	TREE_CELLS(tree, "riscv,num-sources", machine->sources);
	TREE_CELLS(tree, "phandle", PHANDLE_APLIC);
	tree_node_end(tree);
}

static void add_uart(struct tree_writer *tree, const struct machine_tree *machine, uint64_t address,
		     unsigned source)
{
	node_at(tree, "serial", address);
	tree_text(tree, "compatible", "ns16550a");
	TREE_CELLS(tree, "reg", TREE_WIDE(address), TREE_WIDE(SERIAL_REGISTERS));
	TREE_CELLS(tree, "clock-frequency", CLOCK_HZ);
	if (machine->sources) {
		TREE_CELLS(tree, "interrupt-parent", PHANDLE_APLIC);
		TREE_CELLS(tree, "interrupts", source, LEVEL_HIGH);
	}
	tree_node_end(tree);
}

size_t tree_write(uint8_t *to, size_t most, const struct machine_tree *machine)
{
	struct tree_writer writer, *tree = &writer;

	tree_begin(tree, to, (uint32_t)most);
	tree_node(tree, "");
	tree_text(tree, "compatible", "linux,dummy-virt");
	TREE_CELLS(tree, "#address-cells", 2);
	TREE_CELLS(tree, "#size-cells", 2);
	add_chosen(tree, machine);
	virt_tree_memory(tree, RAM, machine->memory_bytes);
	if (machine->pmem_bytes)
		virt_tree_pmem(tree, machine->pmem, machine->pmem_bytes);
	add_cpus(tree, machine);
	if (machine->sources) {
		add_imsics(tree, machine);
		add_aplic(tree, machine);
	}
	add_uart(tree, machine, UART0, UART0_SOURCE);
	add_uart(tree, machine, UART1, UART1_SOURCE);
	tree_node_end(tree);
	return tree_end(tree);
}
