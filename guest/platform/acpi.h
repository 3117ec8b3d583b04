/* What the guest reads from ACPI tables: CPUs, and how to power off. */
#ifndef ACPI_H
#define ACPI_H

#include <stdbool.h>
#include <stdint.h>

#define ACPI_MAX_CPUS 256

struct acpi {
	bool found; /* the tables exist and their checksums are right */
	unsigned cpu_count;
	uint32_t apic_ids[ACPI_MAX_CPUS];
	/* Soft off (ACPI 6.5, 4.8.3.2.1 and 4.8.3.7); 0: none. */
	uint32_t smi_command, enable_value;
	uint16_t pm1a_control, pm1b_control;
	uint16_t timer;		/* port of the power management timer; 0: none */
	uint64_t sleep_control; /* hardware-reduced ACPI: its address */
	bool sleep_control_is_port;
	uint8_t sleep_type_a, sleep_type_b;
	bool can_sleep; /* the types above were found */
};

/* Reads the tables from the root pointer at `rsdp`; if that is 0, searches where PC firmware puts it (ACPI
 * 6.5, 5.2.5.1). The tables must be below 4 GiB. No length in them is trusted. */
void acpi_read(struct acpi *acpi, uint64_t rsdp);

#endif
