/*
 * What a loader passes to a kernel by Multiboot2 (specification 2.0, 3.6): a list of tags, each with its size.
 * Pure: also built on the host, for unit tests and fuzzing.
 */
#ifndef MULTIBOOT2_H
#define MULTIBOOT2_H

#include "guest/screen/frame_buffer.h"

#include <stddef.h>

/* The most that is read of the list, bytes; also of tables in it. */
#define MULTIBOOT2_MAX_BYTES (1u << 20)
/* The longer of ACPI's two root pointers (ACPI 6.5, 5.2.5.3). */
#define RSDP_BYTES	     36

/* A range of the memory map. */
struct multiboot2_memory {
	uint64_t start, bytes;
	uint32_t type, reserved;
};
#define MULTIBOOT2_RAM 1

/* Pointers are into the list; NULL: no such tag, or a malformed one. */
struct multiboot2 {
	const char *cmdline; /* NUL-terminated within the list */
	const uint8_t *memory;
	uint32_t memory_count, memory_entry_bytes;
	uint8_t rsdp[RSDP_BYTES]; /* a copy of ACPI's root pointer; all 0: none */
	bool has_rsdp;
	struct frame_buffer screen;
};

/* Reads the list, and nothing outside the size that it gives. An unknown tag is passed over; the list ends at
 * the first tag whose size is impossible. */
void multiboot2_read(const uint8_t *list, struct multiboot2 *to);

/* Range `index` of the memory map, below memory_count. */
struct multiboot2_memory multiboot2_memory_at(const struct multiboot2 *info, uint32_t index);

#endif
