/* The domain's boot information. Pure. */
#ifndef HANDOVER_H
#define HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

/* Physical addresses in the domain, all below the trampoline of its other CPUs (cpu.h). */
#define HANDOVER_AT	 0x1000 /* start_info, then the memory map */
#define HANDOVER_CMDLINE 0x2000
#define HANDOVER_ACPI	 0x3000
#define HANDOVER_ANSWERS 0x4000 /* struct answers_page */
#define HANDOVER_BYTES	 0x4000

#define HANDOVER_MAX_CPUS 64

struct handover {
	uint64_t memory_bytes;
	unsigned cpus;
	const char *cmdline;
};

/* Fills HANDOVER_BYTES at `to`, which the domain sees at HANDOVER_AT. False: the command line or the number
 * of CPUs is too large. */
bool handover_write(uint8_t *to, const struct handover *handover);

#endif
