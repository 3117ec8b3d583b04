/* The device tree of the machine (bindings: Linux,
 * Documentation/devicetree/bindings). Called by boot.c. Pure. */
#include <stdio.h>
#include <string.h>

#include "machine.h"

#define GIC_HANDLE   1
#define CLOCK_HANDLE 2
#define CLOCK_HZ     24000000

/* Interrupts in three cells: kind, number, trigger. */
#define SHARED	0
#define PRIVATE 1
#define LEVEL	4

static void add_chosen(struct dtb *dtb, const struct machine_tree *machine)
{
	uint64_t end = machine->initrd + machine->initrd_bytes;

	dtb_node(dtb, "chosen");
	dtb_bytes(dtb, "bootargs", machine->command_line, strlen(machine->command_line) + 1);
	dtb_text(dtb, "stdout-path", "/uart@9000000");
	if (machine->initrd_bytes) {
		DTB_CELLS(dtb, "linux,initrd-start", TWO_CELLS(machine->initrd));
		DTB_CELLS(dtb, "linux,initrd-end", TWO_CELLS(end));
	}
	dtb_node_end(dtb);
}

/* KVM gives vCPU n the affinity n / 16 . n % 16 (reset_mpidr() in
 * arch/arm64/kvm/sys_regs.c). */
static void add_cpus(struct dtb *dtb, unsigned count)
{
	dtb_node(dtb, "cpus");
	DTB_CELLS(dtb, "#address-cells", 1);
	DTB_CELLS(dtb, "#size-cells", 0);
	for (unsigned i = 0; i < count; i++) {
		unsigned id = i / 16 << 8 | i % 16;
		char name[16];

		snprintf(name, sizeof(name), "cpu@%x", id);
		dtb_node(dtb, name);
		dtb_text(dtb, "device_type", "cpu");
		dtb_text(dtb, "compatible", "arm,armv8");
		dtb_text(dtb, "enable-method", "psci");
		DTB_CELLS(dtb, "reg", id);
		dtb_node_end(dtb);
	}
	dtb_node_end(dtb);
}

static void add_gic(struct dtb *dtb, const struct machine_tree *machine)
{
	dtb_node(dtb, "interrupt-controller@8000000");
	DTB_CELLS(dtb, "#interrupt-cells", 3);
	DTB_CELLS(dtb, "#address-cells", 2);
	DTB_CELLS(dtb, "#size-cells", 2);
	DTB_CELLS(dtb, "phandle", GIC_HANDLE);
	dtb_bytes(dtb, "interrupt-controller", "", 0);
	dtb_bytes(dtb, "ranges", "", 0);
	if (machine->gic_version == 3) {
		dtb_text(dtb, "compatible", "arm,gic-v3");
		DTB_CELLS(dtb, "reg", TWO_CELLS(GIC_DISTRIBUTOR), 0, GIC_DISTRIBUTOR_BYTES,
			  TWO_CELLS(GIC_REDISTRIBUTORS), 0,
			  machine->cpus * GIC_REDISTRIBUTOR_BYTES);
	} else {
		dtb_text(dtb, "compatible", "arm,cortex-a15-gic");
		DTB_CELLS(dtb, "reg", TWO_CELLS(GIC_DISTRIBUTOR), 0, GIC_DISTRIBUTOR_BYTES,
			  TWO_CELLS(GIC_CPU_INTERFACE), 0, GIC_CPU_INTERFACE_BYTES);
	}
	if (machine->el2)
		DTB_CELLS(dtb, "interrupts", PRIVATE, MAINTENANCE_INTERRUPT, LEVEL);
	if (machine->has_its) {
		dtb_node(dtb, "its@8080000");
		dtb_text(dtb, "compatible", "arm,gic-v3-its");
		dtb_bytes(dtb, "msi-controller", "", 0);
		DTB_CELLS(dtb, "#msi-cells", 1);
		DTB_CELLS(dtb, "reg", TWO_CELLS(GIC_ITS), 0, GIC_ITS_BYTES);
		dtb_node_end(dtb);
	}
	dtb_node_end(dtb);
}

static void add_uart(struct dtb *dtb, const char *name, uint64_t at, uint32_t interrupt)
{
	dtb_node(dtb, name);
	dtb_text(dtb, "compatible", "arm,pl011\0arm,primecell");
	DTB_CELLS(dtb, "reg", TWO_CELLS(at), 0, UART_BYTES);
	DTB_CELLS(dtb, "interrupts", SHARED, interrupt, LEVEL);
	DTB_CELLS(dtb, "clocks", CLOCK_HANDLE, CLOCK_HANDLE);
	dtb_text(dtb, "clock-names", "uartclk\0apb_pclk");
	dtb_node_end(dtb);
}

size_t tree_write(uint8_t *to, size_t most, const struct machine_tree *machine)
{
	struct dtb dtb;

	dtb_start(&dtb, to, most);
	dtb_node(&dtb, "");
	dtb_text(&dtb, "compatible", "linux,dummy-virt");
	DTB_CELLS(&dtb, "#address-cells", 2);
	DTB_CELLS(&dtb, "#size-cells", 2);
	DTB_CELLS(&dtb, "interrupt-parent", GIC_HANDLE);
	add_chosen(&dtb, machine);
	dtb_node(&dtb, "memory@40000000");
	dtb_text(&dtb, "device_type", "memory");
	DTB_CELLS(&dtb, "reg", TWO_CELLS(RAM), TWO_CELLS(machine->memory_bytes));
	dtb_node_end(&dtb);
	add_cpus(&dtb, machine->cpus);
	dtb_node(&dtb, "psci");
	dtb_text(&dtb, "compatible", "arm,psci-1.0\0arm,psci-0.2");
	/* At virtual EL2 HVC belongs to the guest itself. */
	if (machine->el2)
		dtb_text(&dtb, "method", "smc");
	else
		dtb_text(&dtb, "method", "hvc");
	dtb_node_end(&dtb);
	dtb_node(&dtb, "timer");
	dtb_text(&dtb, "compatible", "arm,armv8-timer");
	dtb_bytes(&dtb, "always-on", "", 0);
	/* Secure and not, virtual, EL2's, EL2's virtual one. */
	DTB_CELLS(&dtb, "interrupts", PRIVATE, 13, LEVEL, PRIVATE, 14, LEVEL, PRIVATE, 11, LEVEL,
		  PRIVATE, 10, LEVEL, PRIVATE, 12, LEVEL);
	dtb_node_end(&dtb);
	add_gic(&dtb, machine);
	dtb_node(&dtb, "clock");
	dtb_text(&dtb, "compatible", "fixed-clock");
	DTB_CELLS(&dtb, "#clock-cells", 0);
	DTB_CELLS(&dtb, "clock-frequency", CLOCK_HZ);
	DTB_CELLS(&dtb, "phandle", CLOCK_HANDLE);
	dtb_node_end(&dtb);
	add_uart(&dtb, "uart@9000000", UART0, UART0_INTERRUPT);
	add_uart(&dtb, "uart@9010000", UART1, UART1_INTERRUPT);
	dtb_node_end(&dtb);
	return dtb_finish(&dtb);
}
