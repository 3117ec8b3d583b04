/* Addresses of the machine, and functions shared by this architecture's files. */
#pragma once

#include "vmm/device_table.h"
#include "vmm/guest_memory.h"

/* The same as QEMU's `virt`, except for the second serial port, which that lacks. */
#define APLIC	   0x0d000000ull
#define UART0_PATH "/serial@10000000"
#define UART0	   0x10000000ull
#define UART1	   0x10010000ull
#define IMSIC	   0x28000000ull /* 4 KiB per vCPU */
#define RAM	   0x80000000ull

/* Linux maps persistent memory in such pieces (SUBSECTION_SHIFT). */
#define PMEM_BOUNDARY 0x200000ull

/* Sources of the APLIC, where there is one. */
#define UART0_SOURCE 10
#define UART1_SOURCE 11

#define TREE_BYTES 0x40000u

/* ---- What a vCPU is (hart.c asks KVM) ---- */

#define HART_EXTENSIONS 96 /* KVM's numbers are lower (enum KVM_RISCV_ISA_EXT_ID) */

struct hart {
	uint64_t timebase_hz;
	uint64_t letters;		  /* extensions of one letter; bit 0: A */
	bool extensions[HART_EXTENSIONS]; /* all extensions, by KVM's number */
	uint64_t satp_mode;		  /* the largest, as in SATP.MODE */
	/* Bytes of a block, of Zicbom, Zicboz and Zicbop; 0: unknown. */
	uint64_t cbom_bytes, cboz_bytes, cbop_bytes;
};

/* ---- Names of extensions (isa.c; pure) ---- */

#define ISA_BYTES 1024

/* Both write the extensions: as "rv64imac_sstc_zicsr", and each with its own NUL. They return the bytes with
 * the last NUL. */
uint32_t isa_string(const struct hart *hart, char to[ISA_BYTES]);
uint32_t isa_list(const struct hart *hart, char to[ISA_BYTES]);

/* ---- The device tree (tree.c; pure) ---- */

struct machine_tree {
	unsigned cpus;
	struct hart hart;
	uint32_t sources, ids; /* of APLIC and IMSICs; 0: there are none */
	uint64_t memory_bytes;
	uint64_t initrd, initrd_bytes; /* 0 bytes: none */
	uint64_t pmem, pmem_bytes;     /* the same */
	const char *command_line;
};
/* Writes the tree. Returns its bytes; 0: more than `most`. */
size_t tree_write(uint8_t *to, size_t most, const struct machine_tree *machine);

/* ---- Loader (loader_image.c; pure) ---- */

#define IMAGE_BOUNDARY 0x200000ull /* the kernel's memory is aligned to this */

/* Loads Linux's RISC-V Image to where its header says; like elf_load(). */
bool image_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		struct kernel *kernel);
