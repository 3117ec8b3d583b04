/* The device tree of the machine (bindings: Linux,
 * Documentation/devicetree/bindings). Pure. */
#include <stdio.h>

#include "machine.h"
#include "common/pl011_registers.h"
#include "common/tree_writer.h"

#define GIC_HANDLE   1
#define CLOCK_HANDLE 2
#define CLOCK_HZ     24000000

/* Interrupts in three cells: kind, number, trigger. */
#define SHARED	0
#define PRIVATE 1
#define LEVEL	4

static void add_chosen(struct tree_writer *tree, const struct machine_tree *machine)
{
	uint64_t end = machine->initrd + machine->initrd_bytes;

	tree_node(tree, "chosen");
	tree_text(tree, "bootargs", machine->command_line);
	TREE_TEXTS(tree, "stdout-path", "/uart@9000000");
	if (machine->initrd_bytes) {
		TREE_CELLS(tree, "linux,initrd-start", TREE_WIDE(machine->initrd));
		TREE_CELLS(tree, "linux,initrd-end", TREE_WIDE(end));
	}
	tree_node_end(tree);
}

/* KVM gives vCPU n the affinity n / 16 . n % 16 (reset_mpidr() in
 * arch/arm64/kvm/sys_regs.c). */
static void add_cpus(struct tree_writer *tree, unsigned count)
{
	tree_node(tree, "cpus");
	TREE_CELLS(tree, "#address-cells", 1);
	TREE_CELLS(tree, "#size-cells", 0);
	for (unsigned i = 0; i < count; i++) {
		unsigned id = i / 16 << 8 | i % 16;
		char name[16];

		snprintf(name, sizeof(name), "cpu@%x", id);
		tree_node(tree, name);
		TREE_TEXTS(tree, "device_type", "cpu");
		TREE_TEXTS(tree, "compatible", "arm,armv8");
		TREE_TEXTS(tree, "enable-method", "psci");
		TREE_CELLS(tree, "reg", id);
		tree_node_end(tree);
	}
	tree_node_end(tree);
}

static void add_gic(struct tree_writer *tree, const struct machine_tree *machine)
{
	tree_node(tree, "interrupt-controller@8000000");
	TREE_CELLS(tree, "#interrupt-cells", 3);
	TREE_CELLS(tree, "#address-cells", 2);
	TREE_CELLS(tree, "#size-cells", 2);
	TREE_CELLS(tree, "phandle", GIC_HANDLE);
	tree_property(tree, "interrupt-controller", "", 0);
	tree_property(tree, "ranges", "", 0);
	if (machine->gic_version == 3) {
		TREE_TEXTS(tree, "compatible", "arm,gic-v3");
		TREE_CELLS(tree, "reg", TREE_WIDE(GIC_DISTRIBUTOR), 0, GIC_DISTRIBUTOR_BYTES,
			   TREE_WIDE(GIC_REDISTRIBUTORS), 0,
			   machine->cpus * GIC_REDISTRIBUTOR_BYTES);
	} else {
		TREE_TEXTS(tree, "compatible", "arm,cortex-a15-gic");
		TREE_CELLS(tree, "reg", TREE_WIDE(GIC_DISTRIBUTOR), 0, GIC_DISTRIBUTOR_BYTES,
			   TREE_WIDE(GIC_CPU_INTERFACE), 0, GIC_CPU_INTERFACE_BYTES);
	}
	if (machine->el2)
		TREE_CELLS(tree, "interrupts", PRIVATE, MAINTENANCE_INTERRUPT, LEVEL);
	if (machine->has_its) {
		tree_node(tree, "its@8080000");
		TREE_TEXTS(tree, "compatible", "arm,gic-v3-its");
		tree_property(tree, "msi-controller", "", 0);
		TREE_CELLS(tree, "#msi-cells", 1);
		TREE_CELLS(tree, "reg", TREE_WIDE(GIC_ITS), 0, GIC_ITS_BYTES);
		tree_node_end(tree);
	}
	tree_node_end(tree);
}

static void add_uart(struct tree_writer *tree, const char *name, uint64_t at, uint32_t interrupt)
{
	tree_node(tree, name);
	TREE_TEXTS(tree, "compatible", "arm,pl011\0arm,primecell");
	TREE_CELLS(tree, "reg", TREE_WIDE(at), 0, PL011_BYTES);
	TREE_CELLS(tree, "interrupts", SHARED, interrupt, LEVEL);
	TREE_CELLS(tree, "clocks", CLOCK_HANDLE, CLOCK_HANDLE);
	TREE_TEXTS(tree, "clock-names", "uartclk\0apb_pclk");
	tree_node_end(tree);
}

size_t tree_write(uint8_t *to, size_t most, const struct machine_tree *machine)
{
	struct tree_writer writer, *tree = &writer;

	tree_begin(tree, to, (uint32_t)most);
	tree_node(tree, "");
	TREE_TEXTS(tree, "compatible", "linux,dummy-virt");
	TREE_CELLS(tree, "#address-cells", 2);
	TREE_CELLS(tree, "#size-cells", 2);
	TREE_CELLS(tree, "interrupt-parent", GIC_HANDLE);
	add_chosen(tree, machine);
	tree_node(tree, "memory@40000000");
	TREE_TEXTS(tree, "device_type", "memory");
	TREE_CELLS(tree, "reg", TREE_WIDE(RAM), TREE_WIDE(machine->memory_bytes));
	tree_node_end(tree);
	add_cpus(tree, machine->cpus);
	tree_node(tree, "psci");
	TREE_TEXTS(tree, "compatible", "arm,psci-1.0\0arm,psci-0.2");
	/* At virtual EL2 HVC belongs to the guest itself. */
	if (machine->el2)
		TREE_TEXTS(tree, "method", "smc");
	else
		TREE_TEXTS(tree, "method", "hvc");
	tree_node_end(tree);
	tree_node(tree, "timer");
	TREE_TEXTS(tree, "compatible", "arm,armv8-timer");
	tree_property(tree, "always-on", "", 0);
	/* Secure and not, virtual, EL2's, EL2's virtual one. */
	TREE_CELLS(tree, "interrupts", PRIVATE, 13, LEVEL, PRIVATE, 14, LEVEL, PRIVATE, 11, LEVEL,
		   PRIVATE, 10, LEVEL, PRIVATE, 12, LEVEL);
	tree_node_end(tree);
	add_gic(tree, machine);
	tree_node(tree, "clock");
	TREE_TEXTS(tree, "compatible", "fixed-clock");
	TREE_CELLS(tree, "#clock-cells", 0);
	TREE_CELLS(tree, "clock-frequency", CLOCK_HZ);
	TREE_CELLS(tree, "phandle", CLOCK_HANDLE);
	tree_node_end(tree);
	add_uart(tree, "uart@9000000", UART0, UART0_INTERRUPT);
	add_uart(tree, "uart@9010000", UART1, UART1_INTERRUPT);
	tree_node_end(tree);
	return tree_end(tree);
}
