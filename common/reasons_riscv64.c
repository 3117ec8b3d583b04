/* Names of the reasons of exits on riscv64; see reasons.h. Pure. */
#include "common/reasons.h"

const char reasons_key[] = "scause";

#define INTERRUPT (UINT64_C(1) << 63)

/* RISC-V privileged architecture, "Supervisor cause register", with the hypervisor extension. */
void reasons_name(uint64_t code, struct text *out)
{
	static const struct {
		uint64_t code;
		const char *name;
	} names[] = { { 2, "illegal_insn" },
		      { 8, "user_ecall" },
		      { 10, "ecall" },
		      { 20, "insn_fault" },
		      { 21, "load_fault" },
		      { 22, "virtual_insn" },
		      { 23, "store_fault" },
		      { INTERRUPT | 1, "soft_interrupt" },
		      { INTERRUPT | 5, "timer_interrupt" },
		      { INTERRUPT | 9, "external_interrupt" },
		      { INTERRUPT | 12, "guest_external_interrupt" },
		      { INTERRUPT | 13, "counter_interrupt" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].code == code) {
			text_printf(out, "%s", names[i].name);
			return;
		}
	}
	text_printf(out, "%s_%lx", code & INTERRUPT ? "interrupt" : "cause", code & ~INTERRUPT);
}
