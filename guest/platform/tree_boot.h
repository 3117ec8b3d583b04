/* What a device tree tells at the start, and which memory is free. For the one file of each architecture with device trees
 * that defines boot_tree, the tree's address; BOOT_PROTOCOL; MEMORY_TAKEN, from where to the image's end no memory is free;
 * and MAPPED_END, the end of what is mapped 1:1. */
#ifndef TREE_BOOT_H
#define TREE_BOOT_H

#include "common/fdt.h"
#include "common/memory_ranges.h"
#include "common/tree.h"
#include "guest/core/boot_info.h"

#define TREE_ALIGNMENT 8

extern char image_start[], image_end[];

struct boot_info boot_info;

static void add_ram(uint64_t start, uint64_t end)
{
	if (boot_info.ram_count < MAX_RANGES && start < end)
		boot_info.ram[boot_info.ram_count++] =
			(struct memory_range){ .start = start, .end = end };
}

static void take_away(uint64_t start, uint64_t end)
{
	ranges_take_away(boot_info.ram, &boot_info.ram_count, start, end);
}

const char *boot_read(struct tree *tree)
{
	const char *wrong;

	boot_info.protocol = BOOT_PROTOCOL;
	boot_info.mapped_end = MAPPED_END;
	if (!boot_tree || boot_tree % TREE_ALIGNMENT)
		return "the boot protocol gave no device tree";
	wrong = tree_read(tree, (const void *)boot_tree, FDT_MAX_BYTES);
	for (unsigned i = 0; i < MAX_CMDLINE_BYTES; i++)
		boot_info.cmdline[i] = tree->bootargs[i];
	for (unsigned i = 0; i < tree->ram_count; i++)
		add_ram(tree->ram[i].start, tree->ram[i].end);
	take_away(MEMORY_TAKEN, (uint64_t)image_end);
	/* Not needed after this, but no benchmark may use it as untouched memory. */
	take_away(boot_tree, boot_tree + FDT_MAX_BYTES);
	for (unsigned i = 0; i < tree->reserved_count; i++)
		take_away(tree->reserved[i].start, tree->reserved[i].end);
	return wrong;
}

#endif
