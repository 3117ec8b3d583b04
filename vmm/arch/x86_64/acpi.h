/* Writes ACPI tables. Pure: into a buffer, for an address. */
#ifndef ACPI_H
#define ACPI_H

#include <stddef.h>
#include <stdint.h>

/*
 * RSDP, XSDT, FADT, DSDT and MADT for `cpus` CPUs with the APIC ids 0, 1, ..., into `to`, which
 * the guest sees at `address`. The RSDP comes first. Returns the bytes used; 0: they do not fit.
 */
size_t acpi_write(uint8_t *to, size_t bytes, uint64_t address, unsigned cpus);

#endif
