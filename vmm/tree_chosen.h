/* Writes "chosen" into a device tree: the command line, the console and the initrd. For the tree.c of an architecture, after
 * its <arch/board.h>. */
#pragma once

#include "common/tree_writer.h"

static void add_chosen(struct tree_writer *tree, const struct machine_tree *machine)
{
	uint64_t end = machine->initrd + machine->initrd_bytes;

	tree_node(tree, "chosen");
	tree_text(tree, "bootargs", machine->command_line);
	tree_text(tree, "stdout-path", UART0_PATH);
	if (machine->initrd_bytes) {
		TREE_CELLS(tree, "linux,initrd-start", TREE_WIDE(machine->initrd));
		TREE_CELLS(tree, "linux,initrd-end", TREE_WIDE(end));
	}
	tree_node_end(tree);
}
