/* Processors of aarch64; see processor.h. */
#include "processor.h"

#include <stdio.h>
#include <stdlib.h>

#include "files.h"

#define MIDR "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"

/* Nothing that user space can read says so. */
void processor_hypervisor(char name[13])
{
	name[0] = '\0';
}

/* MIDR_EL1, which names implementer, part and revision. */
void processor_name(char name[49])
{
	char text[32];
	size_t bytes = file_read(MIDR, text, sizeof(text) - 1);

	text[bytes] = '\0';
	name[0] = '\0';
	if (bytes)
		snprintf(name, 49, "MIDR_EL1 %08lx", strtoul(text, NULL, 16));
}
