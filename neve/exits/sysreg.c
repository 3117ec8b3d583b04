/* Emulates system registers by their class, and resets them; see sysreg.h. */
#include "exits/sysreg.h"

#include "core/arch.h"
#include "cpu/cpu.h"
#include "cpu/hardware.h"
#include "cpu/registers.h"
#include "gic/gic.h"
#include "nested/nested.h"
#include "vm/vcpu.h"

_Static_assert(CAUSE_REGISTERS + 2 * (REGISTER_COUNT + 1) <= MAX_CAUSES,
	       "a cause for each register");

const char *arch_register_name(unsigned number)
{
	return number < REGISTER_COUNT ? register_rows[number].name : "another_register";
}

void sysreg_reset(void)
{
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		if (register_rows[i].class == CLASS_CONTEXT)
			hardware_write((enum register_number)i, register_rows[i].mask);
	instruction_barrier();
}

static bool read_register(const struct vcpu *vcpu, enum register_number number, uint32_t encoding,
			  uint64_t *value)
{
	if (number == REG_NONE) {
		*value = 0;
		return register_identifies(encoding);
	}
	switch (register_rows[number].class) {
	case CLASS_IDENTITY:
		*value = register_identity(number, hardware_read(number), nested_identity(vcpu),
					   vcpu->vm->config->vhe);
		return true;
	case CLASS_ZERO:
		*value = 0;
		return true;
	default:
		return false;
	}
}

static bool write_register(struct vcpu *vcpu, enum register_number number, uint64_t value)
{
	if (number == REG_NONE)
		return false;
	if (register_rows[number].class == CLASS_SGI)
		gic_send_sgi(vcpu, value, register_rows[number].mask);
	return register_rows[number].class == CLASS_SGI ||
	       register_rows[number].class == CLASS_ZERO;
}

void vcpu_count_register(struct vcpu *vcpu, uint64_t esr)
{
	unsigned number = (unsigned)register_find((uint32_t)esr & ENCODING_MASK);

	vcpu_count(vcpu, CAUSE_REGISTERS + 2 * number + !(esr & ISS_READ));
}

bool sysreg_access(struct vcpu *vcpu, uint64_t esr)
{
	uint32_t encoding = (uint32_t)esr & ENCODING_MASK;
	enum register_number number = register_find(encoding);
	unsigned rt = esr >> ISS_RT & 31;
	uint64_t *x = vcpu->arch.context.x, value = 0;
	bool read = esr & ISS_READ;

	vcpu_count_register(vcpu, esr);
	if (!read)
		return write_register(vcpu, number, rt == XZR ? 0 : x[rt]);
	if (!read_register(vcpu, number, encoding, &value))
		return false;
	if (rt != XZR)
		x[rt] = value;
	return true;
}
