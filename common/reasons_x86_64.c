/* Names of the reasons of exits on x86_64 with SVM; see reasons.h. Pure. */
#include "common/reasons.h"

const char reasons_key[] = "exit_reason";

/* AMD64 Architecture Programmer's Manual, volume 2, appendix C. */
void reasons_name(uint64_t code, struct text *out)
{
	static const struct {
		uint64_t code;
		const char *name;
	} names[] = { { 0x52, "ac" },	    { 0x4e, "page_fault" }, { 0x60, "interrupt" },
		      { 0x61, "nmi" },	    { 0x63, "init" },	    { 0x64, "vintr" },
		      { 0x6e, "rdtsc" },    { 0x6f, "rdpmc" },	    { 0x70, "pushf" },
		      { 0x71, "popf" },	    { 0x72, "cpuid" },	    { 0x74, "iret" },
		      { 0x76, "invd" },	    { 0x77, "pause" },	    { 0x78, "hlt" },
		      { 0x79, "invlpg" },   { 0x7b, "io" },	    { 0x7c, "msr" },
		      { 0x7f, "shutdown" }, { 0x80, "vmrun" },	    { 0x81, "vmmcall" },
		      { 0x82, "vmload" },   { 0x83, "vmsave" },	    { 0x84, "stgi" },
		      { 0x85, "clgi" },	    { 0x89, "wbinvd" },	    { 0x8d, "xsetbv" },
		      { 0x400, "npf" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].code == code) {
			text_printf(out, "%s", names[i].name);
			return;
		}
	}
	/* Reads of CR0 to CR15, then writes. */
	if (code < 0x20)
		text_printf(out, "%s_cr%lu", code < 0x10 ? "read" : "write", code % 0x10);
	else
		text_printf(out, "code_%lx", code);
}
