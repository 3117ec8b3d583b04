/* Addresses of the machine, and functions shared by this architecture's files. */
#pragma once

#include "vmm/device_table.h"
#include "vmm/guest_memory.h"

/* The same as QEMU's `virt`, for no particular reason. */
#define GIC_DISTRIBUTOR		0x08000000ull
#define GIC_DISTRIBUTOR_BYTES	0x10000
#define GIC_CPU_INTERFACE	0x08010000ull /* GICv2 */
#define GIC_CPU_INTERFACE_BYTES 0x10000
#define GIC_ITS			0x08080000ull
#define GIC_ITS_BYTES		0x20000
#define GIC_REDISTRIBUTORS	0x080a0000ull /* GICv3: 128 KiB per vCPU */
#define GIC_REDISTRIBUTOR_BYTES 0x20000
#define UART0			0x09000000ull
#define UART1			0x09010000ull
#define RAM			0x40000000ull

/* Linux maps persistent memory in such pieces (SUBSECTION_SHIFT). */
#define PMEM_BOUNDARY 0x200000ull

#define UART0_INTID 33
#define UART1_INTID 34

#define TREE_BYTES 0x10000u

/* ---- The device tree (tree.c) ---- */
struct machine_tree {
	unsigned cpus, gic_version;
	bool has_its, el2;
	uint64_t memory_bytes;
	uint64_t initrd, initrd_bytes; /* 0 bytes: none */
	uint64_t pmem, pmem_bytes;     /* the same */
	const char *command_line;
};
/* Writes the tree. Returns its bytes; 0: more than `most`. */
size_t tree_write(uint8_t *to, size_t most, const struct machine_tree *machine);

/* ---- Loader (loader_image.c) ---- */
/* Loads Linux's arm64 Image (Documentation/arch/arm64/booting.rst) to the start of memory; like
 * elf_load(). */
bool image_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		struct kernel *kernel);
