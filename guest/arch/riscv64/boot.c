/* Reads the device tree passed by the boot protocol, and determines which memory is free. */
#include <arch/cpu.h>
#include "common/fdt.h"
#include "common/memory_ranges.h"
#include "guest/arch/riscv64/machine.h"

#define TREE_ALIGNMENT 8

extern char image_start[], image_end[];

/* From boot.S: the address of the device tree, and this hart's number. */
uint64_t boot_tree, boot_hart;

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

const char *boot_read(struct tree *tree, struct harts *harts)
{
	const char *wrong;

	boot_info.protocol = "riscv-image";
	boot_info.mapped_end = 512 * GIB;
	if (!boot_tree || boot_tree % TREE_ALIGNMENT)
		return "the boot protocol gave no device tree";
	wrong = tree_read(tree, (const void *)boot_tree, FDT_MAX_BYTES);
	harts_read(harts, (const void *)boot_tree, FDT_MAX_BYTES);
	for (unsigned i = 0; i < MAX_CMDLINE_BYTES; i++)
		boot_info.cmdline[i] = tree->bootargs[i];
	for (unsigned i = 0; i < tree->ram_count; i++)
		add_ram(tree->ram[i].start, tree->ram[i].end);
	/* The 2 MiB below are the firmware's, whether the tree says so or not. */
	take_away((uint64_t)image_start - 2 * MIB, (uint64_t)image_end);
	/* Not needed after this, but no benchmark may use it as untouched memory. */
	take_away(boot_tree, boot_tree + FDT_MAX_BYTES);
	for (unsigned i = 0; i < tree->reserved_count; i++)
		take_away(tree->reserved[i].start, tree->reserved[i].end);
	return wrong;
}
