/* Names of the reasons of exits on aarch64; see reasons.h. Pure. */
#include "common/reasons.h"

const char reasons_key[] = "esr_ec";

/* Exception classes (Arm Architecture Reference Manual, ESR_EL2.EC); KVM shows an interrupt as 0. */
void reasons_name(uint64_t code, struct text *out)
{
	static const struct {
		uint64_t code;
		const char *name;
	} names[] = { { 0x00, "interrupt" }, { 0x01, "wfx" },	 { 0x07, "fp" },
		      { 0x16, "hvc" },	     { 0x17, "smc" },	 { 0x18, "sysreg" },
		      { 0x19, "sve" },	     { 0x1a, "eret" },	 { 0x20, "iabt" },
		      { 0x24, "dabt" },	     { 0x2f, "serror" }, { 0x30, "debug" },
		      { 0x3c, "brk" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].code == code) {
			text_printf(out, "%s", names[i].name);
			return;
		}
	}
	text_printf(out, "ec_%lx", code);
}
