/* What the files of arch/x86_64 share about the machine as a whole. */
#ifndef MACHINE_H
#define MACHINE_H

#include "guest/platform/acpi.h"

const struct acpi *machine_acpi(void);

/* Where the APIC's registers are in memory (apic.c). */
extern uint64_t apic_registers;

#endif
