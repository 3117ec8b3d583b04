/* Names of causes; see counts.h. Called by bell.c. */
#include "counts.h"

#include "arch.h"

void cause_name(unsigned cause, struct text *out)
{
	static const char *const names[] = {
#define ROW(name, text) text,
		CAUSES(ROW)
#undef ROW
	};

	if (cause < CAUSE_REGISTERS)
		text_printf(out, "%s", names[cause]);
	else
		text_printf(out, "%s_%s", (cause - CAUSE_REGISTERS) % 2 ? "write" : "read",
			    arch_register_name((cause - CAUSE_REGISTERS) / 2));
}
