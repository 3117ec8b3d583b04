/* What we read of ACPI's tables: CPUs, and how to power off. */
#ifndef ACPI_H
#define ACPI_H

#include <stdbool.h>
#include <stdint.h>

#define ACPI_MAX_CPUS 256

struct acpi {
	bool found; /* tables are there and their sums are right */
	unsigned cpu_count;
	uint32_t apic_ids[ACPI_MAX_CPUS];
	/* Soft off (ACPI 6.5, 4.8.3.2.1 and 4.8.3.7); 0: not there */
	uint32_t smi_command, enable_value;
	uint16_t pm1a_control, pm1b_control;
	uint16_t timer;		/* the power management timer's port; 0: there is none */
	uint64_t sleep_control; /* hardware-reduced ACPI: its address */
	bool sleep_control_is_port;
	uint8_t sleep_type_a, sleep_type_b;
	bool can_sleep; /* the types above were found */
};

/* Reads the tables from the root pointer at `rsdp`, or, if that is 0, from where PC firmware puts
 * it (ACPI 6.5, 5.2.5.1). The tables must lie in the low 4 GiB. Never trusts a length. */
void acpi_read(struct acpi *acpi, uint64_t rsdp);

#endif
