/*
 * PVH boot information (Xen, xen/include/public/arch-x86/hvm/start_info.h). Read by
 * guest/platform/boot_protocol.c, written by dom0 and vmm.
 */
#ifndef COMMON_PVH_H
#define COMMON_PVH_H

#include <stdint.h>

#define PVH_MAGIC	 0x336ec578
#define PVH_MEMORY_RAM	 1
/* In flags: SIF_INITDOMAIN (xen.h) */
#define PVH_FIRST_DOMAIN 2

struct pvh_start_info {
	uint32_t magic, version, flags, module_count;
	uint64_t modules, cmdline, rsdp;
	/* since version 1 */
	uint64_t memory_map;
	uint32_t memory_map_count, reserved;
};

struct pvh_memory {
	uint64_t start, bytes;
	uint32_t type, reserved;
};

struct pvh_module {
	uint64_t start, bytes, cmdline, reserved;
};

#endif
