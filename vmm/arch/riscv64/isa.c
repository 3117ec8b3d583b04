/* Names of a vCPU's extensions, for the device tree (bindings: Linux, riscv/extensions.yaml). Pure. */
#include <arch/board.h>

#include "common/text.h"

/* In the order in which an ISA string has them. */
static const char letters[] = "imafdqcbvh";

/* By KVM's number; NULL: of one letter. The headers of today's C library end at "zawrs". */
static const char *const names[] = {
	NULL,	    NULL,      NULL,	    NULL,	   NULL,       NULL,	   NULL,
	"svpbmt",   "sstc",    "svinval",   "zihintpause", "zicbom",   "zicboz",   "zbb",
	"ssaia",    NULL,      "svnapot",   "zba",	   "zbs",      "zicntr",   "zicsr",
	"zifencei", "zihpm",   "smstateen", "zicond",	   "zbc",      "zbkb",	   "zbkc",
	"zbkx",	    "zknd",    "zkne",	    "zknh",	   "zkr",      "zksed",	   "zksh",
	"zkt",	    "zvbb",    "zvbc",	    "zvkb",	   "zvkg",     "zvkned",   "zvknha",
	"zvknhb",   "zvksed",  "zvksh",	    "zvkt",	   "zfh",      "zfhmin",   "zihintntl",
	"zvfh",	    "zvfhmin", "zfa",	    "ztso",	   "zacas",    "sscofpmf", "zimop",
	"zca",	    "zcb",     "zcd",	    "zcf",	   "zcmop",    "zawrs",	   "smnpm",
	"ssnpm",    "svade",   "svadu",	    "svvptc",	   "zabha",    "ziccrse",  "zaamo",
	"zalrsc",   "zicbop",  "zfbfmin",   "zvfbfmin",	   "zvfbfwma", "zclsd",	   "zilsd",
	"zalasr",   "zicfilp", "zicfiss",
};
#define NAMES (sizeof(names) / sizeof(names[0]))

_Static_assert(NAMES <= HART_EXTENSIONS, "a hart has all of them");

static bool has_letter(const struct hart *hart, char letter)
{
	return hart->letters >> (letter - 'a') & 1;
}

static const char *name_of(const struct hart *hart, unsigned number)
{
	return hart->extensions[number] ? names[number] : NULL;
}

uint32_t isa_string(const struct hart *hart, char to[ISA_BYTES])
{
	struct text text;

	text_start(&text, to, ISA_BYTES);
	text_printf(&text, "rv64");
	for (const char *letter = letters; *letter; letter++)
		if (has_letter(hart, *letter))
			text_printf(&text, "%c", *letter);
	for (unsigned i = 0; i < NAMES; i++)
		if (name_of(hart, i))
			text_printf(&text, "_%s", name_of(hart, i));
	return (uint32_t)text.used + 1;
}

uint32_t isa_list(const struct hart *hart, char to[ISA_BYTES])
{
	struct text text;

	text_start(&text, to, ISA_BYTES);
	for (const char *letter = letters; *letter; letter++)
		if (has_letter(hart, *letter))
			text_printf(&text, "%c%c", *letter, 0);
	for (unsigned i = 0; i < NAMES; i++)
		if (name_of(hart, i))
			text_printf(&text, "%s%c", name_of(hart, i), 0);
	return (uint32_t)text.used;
}
