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

/* Exception classes (Arm Architecture Reference Manual, ESR_EL2.EC); KVM shows an interrupt as 0. */
void processor_exit_name(uint64_t code, struct text *out)
{
	static const struct {
		uint64_t code;
		const char *name;
	} names[] = { { 0x00, "interrupt" }, { 0x01, "wfx" },	{ 0x07, "fp" },
		      { 0x16, "hvc" },	     { 0x17, "smc" },	{ 0x18, "sysreg" },
		      { 0x19, "sve" },	     { 0x20, "iabt" },	{ 0x24, "dabt" },
		      { 0x2f, "serror" },    { 0x30, "debug" }, { 0x3c, "brk" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].code == code) {
			text_printf(out, "%s", names[i].name);
			return;
		}
	}
	text_printf(out, "ec_%lx", code);
}
