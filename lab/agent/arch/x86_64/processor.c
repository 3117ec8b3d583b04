/* Processors of x86_64; see processor.h. */
#include "processor.h"

#include <cpuid.h>
#include <string.h>

#define HYPERVISOR_BIT	 (1u << 31) /* of leaf 1's ECX */
#define HYPERVISOR_LEAF	 0x40000000u
#define FIRST_BRAND_LEAF 0x80000002u
#define BRAND_LEAVES	 3

void processor_hypervisor(char name[13])
{
	unsigned a, b, c, d, signature[3];

	name[0] = '\0';
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & HYPERVISOR_BIT))
		return;
	__cpuid(HYPERVISOR_LEAF, a, signature[0], signature[1], signature[2]);
	memcpy(name, signature, sizeof(signature));
	name[sizeof(signature)] = '\0';
}

void processor_name(char name[49])
{
	unsigned words[4];

	memset(name, 0, 49);
	for (unsigned i = 0; i < BRAND_LEAVES; i++) {
		if (!__get_cpuid(FIRST_BRAND_LEAF + i, &words[0], &words[1], &words[2], &words[3]))
			return;
		memcpy(name + sizeof(words) * i, words, sizeof(words));
	}
}

/* AMD64 Architecture Programmer's Manual, volume 2, appendix C. */
void processor_exit_name(uint64_t code, struct text *out)
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
		      { 0x7f, "shutdown" }, { 0x81, "vmmcall" },    { 0x89, "wbinvd" },
		      { 0x8d, "xsetbv" },   { 0x400, "npf" } };

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
