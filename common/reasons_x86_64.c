/* Names of the reasons of exits on x86_64, with SVM or VMX; see reasons.h. Pure. */
#include "common/reasons.h"

const char reasons_key[] = "exit_reason";

struct name {
	uint64_t code;
	const char *name;
};

/* AMD64 Architecture Programmer's Manual, volume 2, appendix C. */
static const struct name svm[] = {
	{ 0x52, "ac" },	     { 0x4e, "page_fault" }, { 0x60, "interrupt" }, { 0x61, "nmi" },
	{ 0x63, "init" },    { 0x64, "vintr" },	     { 0x6e, "rdtsc" },	    { 0x6f, "rdpmc" },
	{ 0x70, "pushf" },   { 0x71, "popf" },	     { 0x72, "cpuid" },	    { 0x74, "iret" },
	{ 0x76, "invd" },    { 0x77, "pause" },	     { 0x78, "hlt" },	    { 0x79, "invlpg" },
	{ 0x7b, "io" },	     { 0x7c, "msr" },	     { 0x7f, "shutdown" },  { 0x80, "vmrun" },
	{ 0x81, "vmmcall" }, { 0x82, "vmload" },     { 0x83, "vmsave" },    { 0x84, "stgi" },
	{ 0x85, "clgi" },    { 0x89, "wbinvd" },     { 0x8d, "xsetbv" },    { 0x400, "npf" },
};

/* Intel SDM, volume 3, appendix C. */
static const struct name vmx[] = {
	{ 0, "exception" },
	{ 1, "interrupt" },
	{ 2, "triple_fault" },
	{ 7, "interrupt_window" },
	{ 8, "nmi_window" },
	{ 9, "task_switch" },
	{ 10, "cpuid" },
	{ 12, "hlt" },
	{ 13, "invd" },
	{ 14, "invlpg" },
	{ 15, "rdpmc" },
	{ 16, "rdtsc" },
	{ 18, "vmcall" },
	{ 28, "cr" },
	{ 29, "dr" },
	{ 30, "io" },
	{ 31, "msr_read" },
	{ 32, "msr_write" },
	{ 36, "mwait" },
	{ 39, "monitor" },
	{ 40, "pause" },
	{ 43, "tpr_below_threshold" },
	{ 44, "apic_access" },
	{ 45, "eoi" },
	{ 46, "gdtr_idtr" },
	{ 47, "ldtr_tr" },
	{ 48, "ept_violation" },
	{ 49, "ept_misconfig" },
	{ 52, "preemption_timer" },
	{ 54, "wbinvd" },
	{ 55, "xsetbv" },
	{ 56, "apic_write" },
};

static const char *find(const struct name *names, size_t count, uint64_t code)
{
	for (size_t i = 0; i < count; i++)
		if (names[i].code == code)
			return names[i].name;
	return NULL;
}

void reasons_name(uint64_t code, struct text *out)
{
	const char *name = reasons_of_vmx ? find(vmx, sizeof(vmx) / sizeof(vmx[0]), code)
					  : find(svm, sizeof(svm) / sizeof(svm[0]), code);

	if (name)
		text_printf(out, "%s", name);
	else if (!reasons_of_vmx && code < 0x20) /* reads of CR0 to CR15, then writes */
		text_printf(out, "%s_cr%lu", code < 0x10 ? "read" : "write", code % 0x10);
	else
		text_printf(out, "code_%lx", code);
}
