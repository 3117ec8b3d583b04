/* A VM's device tree; see guest_tree.h. Pure. */
#include "core/guest_tree.h"

#include "common/text.h"
#include "common/tree_writer.h"

#define PHANDLE_GIC   1
#define PHANDLE_CLOCK 2

#define SHARED	   0 /* the first cell of "interrupts": SPI, PPI */
#define PRIVATE	   1
#define LEVEL_HIGH 4
#define FIRST_SPI  32
#define FIRST_PPI  16

static void put_cpus(struct tree_writer *tree, unsigned count)
{
	tree_node(tree, "cpus");
	TREE_CELLS(tree, "#address-cells", 1);
	TREE_CELLS(tree, "#size-cells", 0);
	for (unsigned i = 0; i < count; i++) {
		char buffer[16];
		struct text name;

		text_start(&name, buffer, sizeof(buffer));
		text_printf(&name, "cpu@%x", i);
		tree_node(tree, buffer);
		tree_text(tree, "device_type", "cpu");
		tree_text(tree, "compatible", "arm,armv8");
		tree_text(tree, "enable-method", "psci");
		TREE_CELLS(tree, "reg", i);
		tree_node_end(tree);
	}
	tree_node_end(tree);
}

#define SEPARATOR " -- "

/* Bytes before the first separator. */
static uint32_t own_words(const char *bootargs)
{
	uint32_t at = 0, matched = 0;

	for (; bootargs[at] && SEPARATOR[matched]; at++)
		matched = bootargs[at] == SEPARATOR[matched] ? matched + 1
							     : bootargs[at] == SEPARATOR[0];
	return SEPARATOR[matched] ? at : at - matched;
}

static void put_words(struct tree_writer *tree, const char *words, uint32_t bytes)
{
	char copy[MAX_CMDLINE_BYTES];

	__builtin_memcpy(copy, words, bytes);
	copy[bytes] = 0;
	tree_text(tree, "bootargs", copy);
}

/* A hypervisor's modules: a kernel, then ramdisks. */
static void put_modules(struct tree_writer *tree, const struct guest_machine *machine,
			const char *words)
{
	for (unsigned i = 0; i < MAX_RAMDISKS && machine->ramdisks[i].start; i++) {
		const struct memory_range *range = &machine->ramdisks[i];
		char buffer[32];
		struct text name;

		text_start(&name, buffer, sizeof(buffer));
		text_printf(&name, "module@%lx", range->start);
		tree_node(tree, buffer);
		if (i)
			TREE_TEXTS(tree, "compatible", "multiboot,module\0multiboot,ramdisk");
		else
			TREE_TEXTS(tree, "compatible", "multiboot,module\0multiboot,kernel");
		TREE_CELLS(tree, "reg", TREE_WIDE(range->start),
			   TREE_WIDE(range->end - range->start));
		if (!i)
			tree_text(tree, "bootargs", words);
		tree_node_end(tree);
	}
}

static void put_chosen(struct tree_writer *tree, const struct guest_machine *machine)
{
	uint32_t own = machine->hypervisor ? own_words(machine->bootargs)
					   : (uint32_t)text_length(machine->bootargs);
	const char *rest = machine->bootargs + own;

	tree_node(tree, "chosen");
	put_words(tree, machine->bootargs, own);
	tree_text(tree, "stdout-path", "/serial@9000000");
	if (machine->ramdisks[0].start) { /* Linux's own name of it, also as a guest hypervisor */
		TREE_CELLS(tree, "linux,initrd-start", TREE_WIDE(machine->ramdisks[0].start));
		TREE_CELLS(tree, "linux,initrd-end", TREE_WIDE(machine->ramdisks[0].end));
	}
	if (machine->hypervisor)
		put_modules(tree, machine, rest + (*rest ? sizeof(SEPARATOR) - 1 : 0));
	tree_node_end(tree);
}

static void put_interrupt_controller(struct tree_writer *tree, const struct guest_machine *machine)
{
	tree_node(tree, "interrupt-controller@8000000");
	tree_text(tree, "compatible", "arm,gic-v3");
	tree_property(tree, "interrupt-controller", "", 0);
	TREE_CELLS(tree, "#interrupt-cells", 3);
	TREE_CELLS(tree, "phandle", PHANDLE_GIC);
	TREE_CELLS(tree, "reg", TREE_WIDE(GUEST_GICD), TREE_WIDE(0x10000), TREE_WIDE(GUEST_GICR),
		   TREE_WIDE(machine->redistributor_bytes));
	if (machine->hypervisor)
		TREE_CELLS(tree, "interrupts", PRIVATE, PPI_MAINTENANCE - FIRST_PPI, LEVEL_HIGH);
	tree_node_end(tree);
}

static void put_timer(struct tree_writer *tree)
{
	tree_node(tree, "timer");
	tree_text(tree, "compatible", "arm,armv8-timer");
	tree_property(tree, "always-on", "", 0);
	TREE_CELLS(tree, "interrupts", PRIVATE, PPI_TIMER_SECURE - FIRST_PPI, LEVEL_HIGH, PRIVATE,
		   PPI_TIMER_PHYSICAL - FIRST_PPI, LEVEL_HIGH, PRIVATE,
		   PPI_TIMER_VIRTUAL - FIRST_PPI, LEVEL_HIGH, PRIVATE,
		   PPI_TIMER_HYPERVISOR - FIRST_PPI, LEVEL_HIGH, PRIVATE,
		   PPI_TIMER_HYPERVISOR_VIRTUAL - FIRST_PPI, LEVEL_HIGH);
	tree_node_end(tree);
}

static void put_uart(struct tree_writer *tree, const char *name, uint64_t address, unsigned intid)
{
	tree_node(tree, name);
	TREE_TEXTS(tree, "compatible", "arm,pl011\0arm,primecell");
	TREE_CELLS(tree, "reg", TREE_WIDE(address), TREE_WIDE(0x1000));
	TREE_CELLS(tree, "interrupts", SHARED, intid - FIRST_SPI, LEVEL_HIGH);
	TREE_CELLS(tree, "clocks", PHANDLE_CLOCK, PHANDLE_CLOCK);
	TREE_TEXTS(tree, "clock-names", "uartclk\0apb_pclk");
	tree_node_end(tree);
}

uint32_t guest_tree_write(const struct guest_machine *machine, uint8_t *to, uint32_t room)
{
	struct tree_writer writer, *tree = &writer;

	tree_begin(tree, to, room);
	tree_node(tree, "");
	TREE_CELLS(tree, "#address-cells", 2);
	TREE_CELLS(tree, "#size-cells", 2);
	TREE_CELLS(tree, "interrupt-parent", PHANDLE_GIC);
	tree_text(tree, "compatible", "worldswitch,neve-vm");
	tree_text(tree, "model", "worldswitch neve VM");
	put_chosen(tree, machine);
	tree_node(tree, "memory@40000000");
	tree_text(tree, "device_type", "memory");
	TREE_CELLS(tree, "reg", TREE_WIDE(machine->ram.start),
		   TREE_WIDE(machine->ram.end - machine->ram.start));
	tree_node_end(tree);
	tree_node(tree, "hypervisor");
	tree_text(tree, "compatible", "neve,neve-0.1");
	tree_node_end(tree);
	put_cpus(tree, machine->cpus);
	tree_node(tree, "psci");
	TREE_TEXTS(tree, "compatible", "arm,psci-1.0\0arm,psci-0.2");
	tree_text(tree, "method", machine->hypervisor ? "smc" : "hvc");
	tree_node_end(tree);
	put_timer(tree);
	put_interrupt_controller(tree, machine);
	tree_node(tree, "clock");
	tree_text(tree, "compatible", "fixed-clock");
	TREE_CELLS(tree, "#clock-cells", 0);
	TREE_CELLS(tree, "clock-frequency", 24000000);
	TREE_CELLS(tree, "phandle", PHANDLE_CLOCK);
	tree_node_end(tree);
	put_uart(tree, "serial@9000000", GUEST_UART, GUEST_UART_INTID);
	put_uart(tree, "serial@9040000", GUEST_UART2, GUEST_UART2_INTID);
	tree_node(tree, "test@a000000");
	tree_text(tree, "compatible", "worldswitch,test");
	TREE_CELLS(tree, "reg", TREE_WIDE(GUEST_TEST), TREE_WIDE(GUEST_TEST_BYTES));
	tree_node_end(tree);
	tree_node_end(tree);
	return tree_end(tree);
}
