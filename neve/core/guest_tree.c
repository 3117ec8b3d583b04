/* A VM's device tree; see guest_tree.h. Pure. */
#include "core/guest_tree.h"

#include "common/text.h"
#include "common/virt_tree.h"

#define SEPARATOR " -- "

/* Length of the guest hypervisor's own part: up to the first separator. */
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

/* A guest hypervisor's modules: a kernel, then ramdisks. */
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
	/* For the modules, whose addresses have the root's format. */
	TREE_CELLS(tree, "#address-cells", 2);
	TREE_CELLS(tree, "#size-cells", 2);
	put_words(tree, machine->bootargs, own);
	tree_text(tree, "stdout-path", "/serial@9000000");
	/* For Linux, also as a guest hypervisor. With words for a guest it is the guest's kernel, which Xen would take for
	 * its guest's initial RAM disk. */
	if (machine->ramdisks[0].start && !*rest) {
		TREE_CELLS(tree, "linux,initrd-start", TREE_WIDE(machine->ramdisks[0].start));
		TREE_CELLS(tree, "linux,initrd-end", TREE_WIDE(machine->ramdisks[0].end));
	}
	if (machine->hypervisor)
		put_modules(tree, machine, rest + (*rest ? sizeof(SEPARATOR) - 1 : 0));
	tree_node_end(tree);
}

/* Memory that Linux takes for persistent, with a file system in it. */
static void put_pmem(struct tree_writer *tree, const struct memory_range *range)
{
	char buffer[32];
	struct text name;

	text_start(&name, buffer, sizeof(buffer));
	text_printf(&name, "pmem@%lx", range->start);
	tree_node(tree, buffer);
	tree_text(tree, "compatible", "pmem-region");
	TREE_CELLS(tree, "reg", TREE_WIDE(range->start), TREE_WIDE(range->end - range->start));
	tree_node_end(tree);
}

uint32_t guest_tree_write(const struct guest_machine *machine, uint8_t *to, uint32_t room)
{
	const struct virt_gic gic = { .version = 3,
				      .distributor = GUEST_GICD,
				      .distributor_bytes = 0x10000,
				      .second = GUEST_GICR,
				      .second_bytes = machine->redistributor_bytes,
				      .maintenance = machine->hypervisor };
	struct tree_writer writer, *tree = &writer;

	tree_begin(tree, to, room);
	tree_node(tree, "");
	virt_tree_root(tree);
	tree_text(tree, "compatible", "worldswitch,neve-vm");
	tree_text(tree, "model", "worldswitch neve VM");
	put_chosen(tree, machine);
	virt_tree_memory(tree, machine->ram.start, machine->ram.end - machine->ram.start);
	if (machine->pmem.start)
		put_pmem(tree, &machine->pmem);
	tree_node(tree, "hypervisor");
	tree_text(tree, "compatible", "neve,neve-0.1");
	tree_node_end(tree);
	virt_tree_cpus(tree, machine->cpus);
	virt_tree_psci(tree, machine->hypervisor);
	virt_tree_timer(tree);
	virt_tree_gic(tree, &gic);
	virt_tree_clock(tree);
	virt_tree_uart(tree, "serial", GUEST_UART, GUEST_UART_INTID);
	virt_tree_uart(tree, "serial", GUEST_UART2, GUEST_UART2_INTID);
	tree_node(tree, "test@a000000");
	tree_text(tree, "compatible", "worldswitch,test");
	TREE_CELLS(tree, "reg", TREE_WIDE(GUEST_TEST), TREE_WIDE(GUEST_TEST_BYTES));
	tree_node_end(tree);
	tree_node_end(tree);
	return tree_end(tree);
}
