/* What the files of arch/x86_64 share about the machine. */
#ifndef MACHINE_H
#define MACHINE_H

#include "guest/platform/acpi.h"

const struct acpi *machine_acpi(void);

/* Address of the APIC's registers (apic.c). */
extern uint64_t apic_registers;

#endif
