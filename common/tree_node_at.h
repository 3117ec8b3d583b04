/* Writes the start of a node with a unit address into a device tree (common/tree_writer.h). */
#ifndef COMMON_TREE_NODE_AT_H
#define COMMON_TREE_NODE_AT_H

#include "common/text.h"
#include "common/tree_writer.h"

static void node_at(struct tree_writer *tree, const char *name, uint64_t address)
{
	char buffer[40];
	struct text text;

	text_start(&text, buffer, sizeof(buffer));
	text_printf(&text, "%s@%lx", name, address);
	tree_node(tree, buffer);
}

#endif
