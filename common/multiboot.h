/*
 * Multiboot 0.6.96: a kernel's header (3.1) and the information that a loader passes (3.3). The guest reads
 * the information (boot_protocol.c); vmm reads the header and writes the information.
 */
#ifndef COMMON_MULTIBOOT_H
#define COMMON_MULTIBOOT_H

#include <stdint.h>

#define MULTIBOOT_MAGIC	       0x1badb002u
#define MULTIBOOT_LOADED       0x2badb002u /* in EAX at the entry */
#define MULTIBOOT_SEARCH_BYTES 8192	   /* the header is within the file's first 8 KiB */

/* Flags of the header. */
#define MULTIBOOT_REQUIRED     0xffffu	  /* a loader that does not know one of them must fail */
#define MULTIBOOT_KNOWN	       0x0003u	  /* modules on page boundaries; a memory map */
#define MULTIBOOT_GIVES_PLACES (1u << 16) /* the header's address fields are valid */

struct multiboot_header {
	uint32_t magic, flags, checksum;
	uint32_t header, load, load_end, bss_end, entry;
};

/* Flags of the information. */
#define MULTIBOOT_HAS_SIZES   (1u << 0)
#define MULTIBOOT_HAS_CMDLINE (1u << 2)
#define MULTIBOOT_HAS_MODULES (1u << 3)
#define MULTIBOOT_HAS_MEMORY  (1u << 6)
#define MULTIBOOT_MEMORY_RAM  1

struct multiboot_info {
	uint32_t flags, memory_low, memory_high, boot_device, cmdline, module_count, modules;
	uint32_t symbols[4];
	uint32_t memory_map_bytes, memory_map;
	uint32_t others[18]; /* drives, ..., the frame buffer */
};

struct multiboot_memory {
	uint32_t size; /* of the rest of the entry */
	uint64_t start, bytes;
	uint32_t type;
} __attribute__((packed));

struct multiboot_module {
	uint32_t start, end, cmdline, reserved;
};

#endif
