/*
 * The part of Xen's tool stack interface that domain.c uses: domctl.h and memory.h. It is versioned, and
 * may change with each Xen release.
 */
#ifndef DOMCTL_H
#define DOMCTL_H

#include <stdint.h>

/* Xen 4.17 to 4.20. Of what is used here, only createdomain differs. */
#define DOMCTL_OLDEST	   0x15
#define DOMCTL_NEWEST	   0x17
#define DOMCTL_WITH_ALTP2M 0x17

#define DOMCTL_CREATE	     1
#define DOMCTL_UNPAUSE	     4
#define DOMCTL_INFO	     5
#define DOMCTL_MAX_MEMORY    11
#define DOMCTL_MAX_VCPUS     15
#define DOMCTL_SET_CONTEXT   34
#define DOMCTL_PORTS	     40
#define DOMCTL_SET_TSC	     60
#define DOMCTL_SET_PAGE_POOL 86

#define CREATE_HVM	    (1u << 0)
#define CREATE_HAP	    (1u << 1)
#define CREATE_EMULATE_APIC (1u << 0)
#define TSC_NATIVE	    2 /* tsc_mode: never emulate (Xen's docs/man/xl.cfg.5, tsc_mode) */
#define INFO_SHUTDOWN	    (1u << 2)
#define INFO_REASON_SHIFT   16

struct domctl_create {
	uint32_t security_label;
	uint8_t handle[16];
	uint32_t flags, iommu, max_vcpus, max_event_port;
	int32_t max_grant_frames, max_maptrack_frames;
	uint32_t grant_version;
	/* [altp2m,] trace buffer, CPU pool, emulated devices, others: see DOMCTL_WITH_ALTP2M */
	uint32_t rest[5];
};

struct domctl_info {
	uint16_t domain, unused;
	uint32_t flags;
};

struct domctl_tsc {
	uint32_t mode, khz, incarnation, unused;
	uint64_t elapsed_ns;
};

struct domctl_ports {
	uint32_t guest_first, machine_first, count, add;
};

struct domctl_context {
	uint32_t bytes, unused;
	const void *records;
};

struct domctl {
	uint32_t command, interface;
	uint16_t domain, unused[3];
	union {
		struct domctl_create create;
		struct domctl_info info;
		struct domctl_tsc tsc;
		struct domctl_ports ports;
		struct domctl_context context;
		uint32_t max_vcpus;
		uint64_t max_memory_kib, page_pool_bytes;
		uint8_t all[128];
	} u;
};
_Static_assert(sizeof(struct domctl) == 144, "struct xen_domctl");

/* ---- memory.h -------------------------------------------------------------------------------- */

#define MEMORY_POPULATE	 6
#define MEMORY_ADD_BATCH 23
#define SPACE_FOREIGN	 4
#define MEMORY_MAX_BATCH 64

struct memory_reservation {
	const uint64_t *frames;
	uint64_t count;
	uint32_t order, flags;
	uint16_t domain;
};

struct memory_add_batch {
	uint16_t domain, space, count, foreign_domain;
	const uint64_t *foreign_frames, *frames;
	int32_t *errors;
};

/* ---- hvm/save.h, arch-x86/hvm/save.h --------------------------------------------------------- */

#define SAVE_MAGIC   0x54381286
#define SAVE_VERSION 1
#define SAVE_END     0
#define SAVE_HEADER  1
#define SAVE_CPU     2

struct save_record {
	uint16_t type, instance;
	uint32_t bytes;
};

struct save_header {
	uint32_t magic, version;
	uint64_t changeset;
	uint32_t cpuid, tsc_khz;
};

/* Order: cs ds es fs gs ss tr ldtr, then idtr gdtr where present. */
enum { SAVE_CS, SAVE_DS, SAVE_ES, SAVE_FS, SAVE_GS, SAVE_SS, SAVE_TR, SAVE_LDTR, SAVE_SEGMENTS };

struct save_cpu {
	uint8_t fpu[512];
	uint64_t rax, rbx, other_registers[14];
	uint64_t rip, rflags, cr0, cr2, cr3, cr4, dr[4], dr6, dr7;
	uint32_t selectors[SAVE_SEGMENTS], limits[SAVE_SEGMENTS + 2];
	uint64_t bases[SAVE_SEGMENTS + 2];
	uint32_t rights[SAVE_SEGMENTS];
	uint64_t sysenter[3], msrs[8], tsc;
	uint32_t event, event_error, flags, unused;
};
_Static_assert(__builtin_offsetof(struct save_cpu, rip) == 640, "struct hvm_hw_cpu");
_Static_assert(__builtin_offsetof(struct save_cpu, selectors) == 736, "struct hvm_hw_cpu");
_Static_assert(__builtin_offsetof(struct save_cpu, rights) == 888, "struct hvm_hw_cpu");
_Static_assert(sizeof(struct save_cpu) == 1032, "struct hvm_hw_cpu");

#endif
