/* Names of causes; see counts.h. */
#include "core/counts.h"

#include "core/arch.h"

void cause_name(unsigned count, struct text *out)
{
	static const char *const names[] = {
#define ROW(name, text) text,
		CAUSES(ROW)
#undef ROW
	};

	unsigned cause = count % MAX_CAUSES;

	if (count / MAX_CAUSES == LEVEL_HYPERVISOR)
		text_printf(out, "el2_");
	if (cause < CAUSE_REGISTERS)
		text_printf(out, "%s", names[cause]);
	else
		text_printf(out, "%s_%s", (cause - CAUSE_REGISTERS) % 2 ? "write" : "read",
			    arch_register_name((cause - CAUSE_REGISTERS) / 2));
}
