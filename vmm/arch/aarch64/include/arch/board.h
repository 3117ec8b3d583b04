/* Addresses of the machine, and functions shared by this architecture's files. */
#pragma once

#include "vmm/device_table.h"
#include "vmm/guest_memory.h"
#include "vmm/options.h"
#include "common/tree_writer.h"

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
#define ASSIGNED		0x10000000ull /* registers of a PCI device of the host */
#define ASSIGNED_BYTES		0x10000000ull
#define RAM			0x40000000ull

/* Linux maps persistent memory in such pieces (SUBSECTION_SHIFT). */
#define PMEM_BOUNDARY 0x200000ull

#define INTERRUPTS 64 /* INTIDs, including the private ones */

#define UART0_INTID 33
#define UART1_INTID 34

#define TREE_BYTES 0x10000u

/* Path in the device tree of the first serial port. */
#define UART0_PATH "/uart@9000000"

/* ---- The device tree (tree.c) ---- */
struct machine_tree {
	unsigned cpus, gic_version;
	bool has_its, el2;
	uint64_t memory_bytes;
	uint64_t initrd, initrd_bytes; /* 0 bytes: none */
	uint64_t pmem, pmem_bytes;     /* the same */
	const struct domains *domains; /* Xen's; NULL: no Xen */
	const char *command_line;
};
/* Writes the tree. Returns its bytes; 0: more than `most`. */
size_t tree_write(uint8_t *to, size_t most, const struct machine_tree *machine);

/* ---- Loader (loader_image.c) ---- */
/* Loads Linux's arm64 Image (Documentation/arch/arm64/booting.rst) to the start of memory; like
 * elf_load(). */
bool image_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		struct kernel *kernel);

/* ---- A PCI device of the host (assigned.c) ---- */
struct vm;
/* Adds the device of the option assign, if there is one. */
bool assigned_add(struct vm *vm);

/* ---- Xen as a guest hypervisor (xen.c) ---- */
/* Domains that Xen starts by itself: the guest's, and for our own guest a second one that answers its events. */
struct domains {
	uint64_t bytes;		/* of the image of both */
	const char *parameters; /* Xen's command line */
	bool answers;		/* is there a second domain? */
};
/* The virtual EL2 of the vCPUs. Xen does not run with VHE. */
static inline enum el2 config_el2(const struct config *config)
{
	return config->xen[0] ? EL2_NO_VHE : (enum el2)config->el2;
}
/* Loads Xen, and the file as the image of its domains; like image_load(). */
bool xen_load(const uint8_t *file, size_t bytes, const struct memory *memory,
	      struct kernel *kernel);
/* Writes the nodes /aliases and /chosen for Xen. */
void xen_tree(struct tree_writer *tree, const struct machine_tree *machine);
